date -u -d '2024-02-29 12:34:56' '+%Y-%m-%d %H:%M:%S %j %A'
date -u -d @86399 +%T
a=$(date +%s); sleep 1; b=$(date +%s); [ $((b - a)) -ge 1 ] && echo later
timeout 1 sleep 10; echo $?
timeout 5 true; echo $?
