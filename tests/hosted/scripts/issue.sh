echo hello
uname -m
ls /tmp | wc -l
exit 7
