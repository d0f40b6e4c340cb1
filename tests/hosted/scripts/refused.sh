# What Linux refuses, as a shell tells it.
cd /tmp
: > plain; echo 'echo hi' > noexec
./plain; echo $?
./noexec 2>/dev/null; echo $?
/tmp 2>/dev/null; echo $?
/tmp/none 2>/dev/null; echo $?
/dev/null/x 2>/dev/null; echo $?
printf '#!/no/such\n' > bad; chmod +x bad; ./bad 2>/dev/null; echo $?
head -c 100 /usr/bin/busybox > cut; chmod +x cut; ./cut 2>/dev/null; echo $?
cd none 2>/dev/null; echo $?; cd plain 2>/dev/null; echo $?
cat none 2>/dev/null; echo $?; cat /tmp 2>/dev/null; echo $?
mkdir plain/x 2>/dev/null; echo $?; rmdir /tmp/.. 2>/dev/null; echo $?
mkdir d; : > d/f; rmdir d 2>/dev/null; echo $?; mv d plain 2>/dev/null; echo $?; mv plain d/f; echo $?
ln -s loop loop; cat loop 2>/dev/null; echo $?; ln d hard 2>/dev/null; echo $?
mv d d/e 2>/dev/null; echo $?
yes | head -1 >/dev/null; echo $?
(exec <&-; cat 2>/dev/null; echo $?)
(exec >&-; echo x 2>/dev/null; echo $? >&2)
seq 100000 | (exec <&-; exit 5); echo $?
long=$(head -c 5000 /dev/zero | tr '\0' x); cat $long 2>/dev/null; echo $?; touch $(echo $long | cut -c 1-256) 2>/dev/null || echo name; touch $(echo $long | cut -c 1-255) && echo fits
true $(seq 20000) && echo arguments
