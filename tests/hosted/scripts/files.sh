cd /tmp
mkdir -p d/e/f; touch d/1 d/e/2 d/e/f/3
find d | sort
cp -r d copy; rm -r d; ls -R copy
mv copy/e moved; ls moved
ln -s moved link; readlink link; ls link/
ln moved/2 hard; echo text > hard; cat moved/2
chmod 640 hard; stat -c '%a %s %F %h' hard
chmod u+x,g-r hard; stat -c '%a' hard
rmdir moved 2>/dev/null || echo full
rm -rf moved copy link; ls | tr '\n' ' '; echo
touch -d '2001-02-03 04:05:06' t; stat -c %Y t
du -s . >/dev/null && echo du
