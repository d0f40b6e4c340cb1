cd /tmp
mkdir a; seq 1 5000 > a/numbers; echo x > a/x; ln -s x a/l
tar cf t.tar a; tar tf t.tar | sort
mkdir out; tar xf t.tar -C out; cmp a/numbers out/a/numbers && readlink out/a/l
gzip -c a/numbers > n.gz; gunzip -c n.gz | md5sum
tar czf t.tgz a; tar tzf t.tgz | wc -l
gzip a/numbers; ls a; gunzip a/numbers.gz; tail -1 a/numbers
md5sum a/numbers; sha256sum a/numbers | cut -c 1-16; cksum a/x
