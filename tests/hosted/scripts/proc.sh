# /proc and /dev, as scripts look at them.
cat /proc/self/comm
tr '\0' ' ' < /proc/self/cmdline; echo
ls -l /proc/self/exe | sed 's/.*-> //'
ls -l /proc/self/cwd | sed 's/.*-> //'
ls /proc/self/fd | head -3 | tr '\n' ' '; echo
grep -c '^MemTotal: *[0-9]* kB$' /proc/meminfo; grep -c MemFree /proc/meminfo
awk '{ print NF, ($1 > 0) }' /proc/uptime
grep -c processor /proc/cpuinfo | awk '{ print ($1 > 0) }'
grep ' / ' /proc/mounts | cut -d ' ' -f 2; grep ' /proc ' /proc/mounts | cut -d ' ' -f 3
grep -c '^State:' /proc/self/status; grep '^Name:' /proc/self/status; awk '/^Uid:/ { print $2, $3 }' /proc/self/status; grep -c '^PPid:' /proc/self/status
awk '{ print $2, $3 }' /proc/self/stat
grep -c stack /proc/self/maps; awk '$2 ~ /x/ { n++ } END { print (n > 0) }' /proc/self/maps
readlink /proc/self/root
sh -c '[ $(readlink /proc/self) != $$ ] && echo another'
cat /proc/$$/comm; test -d /proc/1 && echo one; test -d /proc/999999 || echo none
cat /proc/none 2>/dev/null || echo 'no such file'; echo x > /proc/self/none 2>/dev/null || echo 'not made'
ls /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty
head -c 3 /dev/zero | od -An -tx1; echo gone > /dev/null; cat /dev/null | wc -c; echo x > /dev/full 2>/dev/null || echo full
[ $(head -c 16 /dev/urandom | md5sum | cut -c 1-32) != $(head -c 16 /dev/urandom | md5sum | cut -c 1-32) ] && echo random
ls -l /dev/null | cut -c 1-10; stat -c '%F %t %T' /dev/null /dev/zero; ls -l /dev/stdin | sed 's/.*-> //'
echo through | cat /dev/stdin; echo out > /dev/stdout; echo err > /dev/stderr
uname; uname -m; id -u; id -g
