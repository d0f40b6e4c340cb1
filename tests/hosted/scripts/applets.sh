# Every applet that the project's text names, and what scripts most often do with them.
cd /tmp
mkdir -p tree/one/two; touch tree/a tree/one/b tree/one/two/c
ls tree; ls -1R tree; ls -ld tree | cut -c 1-10; ls -a tree/one; ls -i tree >/dev/null && echo ls-i
cat tree/a; printf 'x\ny\n' | cat -n
printf 'one\ntwo\nthree\n' > words
grep -q two words && echo grep; grep -c e words; grep -rl two /tmp/words; grep -o 't.' words; grep -A 1 one words; grep -w two words; grep -i ONE words
find tree -type f | sort; find tree -name 'b' -o -name c | sort; find tree -type d -empty; find tree -type f -exec echo {} + | wc -w
sed 's/o/0/' words; sed -n '2,3p' words; sed -i 's/two/2/' words; cat words; sed -e '1d' -e 's/e*$/!/' words; sed '/one/,/2/s/^/> /' words
awk 'BEGIN { for (i = 1; i < 4; i++) s = s i; print s, length(s) }'; awk -v n=2 'NR == n' words; awk '{ a[$1]++ } END { for (k in a) c++; print c }' words; awk 'BEGIN { printf "%.3f %x %s\n", 1 / 3, 255, substr("abcdef", 2, 3) }'
printf '3\n1\n2\n10\n' | sort; printf '3\n1\n2\n10\n' | sort -n; printf '3\n1\n2\n10\n' | sort -rn | head -1
wc -l < words; wc -c < words; wc words | tr -s ' '
head -n 1 words; head -c 3 words; echo; tail -n 1 words; tail -c 4 words; seq 10 | tail -n +9
echo hello | tr a-y b-z; echo aabbcc | tr -s a-c; echo a1b2 | tr -d 0-9; echo a1b2 | tr -cd 0-9; echo
echo a:b:c | cut -d: -f 1,3; echo abcdef | cut -c 2-4
seq 5 | xargs; seq 4 | xargs -n 2; printf 'a\0b\0' | xargs -0 -n 1 echo; seq 3 | xargs -I N echo 'N.'; echo 1 | xargs sh -c 'exit 255' ; echo $?
sleep 0.01 && echo sleep
kill -l 9; kill -0 $$ && echo kill
ps | grep -c '[p]s' ; ps -o pid,comm | head -1
date -u -d @0 '+%Y-%m-%d %H:%M:%S'; date -u -d @1700000000 +%s; date +%Y | grep -c '^20'
mkdir -m 700 private; stat -c %a private; mkdir private 2>/dev/null || echo there; mkdir -p private/a/b && ls private
cp words copy; cmp words copy && echo cp; cp -r tree tree2; find tree2 | wc -l; cp -p words kept; mv copy moved; ls copy 2>/dev/null || echo mv; mv moved private; ls private
ln words hard; ln -s words soft; stat -c %h words; readlink soft; ln -sf tree soft; readlink soft; ls -l soft | sed 's/.*-> //'
chmod 600 words; stat -c %a words; chmod a+r words; stat -c %a words; chmod u=rwx,go= words; stat -c %a words; chmod -R go-rwx tree; stat -c %a tree/one
touch new; test -f new && echo touch; touch -d '2020-01-02 03:04:05' new; stat -c %Y new; touch -r new words; test words -nt new || echo same; touch -c none; ls none 2>/dev/null || echo 'not made'
tar cf t.tar tree; tar tf t.tar | wc -l; rm -r tree; tar xf t.tar; find tree -type f | wc -l; tar czf t.tgz tree; tar xzOf t.tgz tree/a | wc -c
seq 1000 > n; gzip -k n 2>/dev/null || gzip -c n > n.gz; gzip -dc n.gz | tail -1; rm n; gunzip n.gz; wc -l < n; printf 'plain' | gzip | gunzip; echo
md5sum n | cut -c 1-32; echo abc | md5sum; md5sum n > sums; md5sum -c sums
rm n; rm -f none; rm none 2>/dev/null || echo rm; rm -rf tree tree2 private; rmdir none 2>/dev/null || echo rmdir; ls
