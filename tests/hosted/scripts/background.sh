sleep 0.2 & p=$!
kill -0 $p && echo running
wait $p; echo $?
(exit 9) & wait $!; echo $?
sleep 100 & kill $!; wait $! 2>/dev/null; echo $?
for i in 1 2 3; do (echo $i > /tmp/bg$i) & done; wait; cat /tmp/bg1 /tmp/bg2 /tmp/bg3
sleep 100 & kill -9 $!; wait $! 2>/dev/null; echo $?
# The parent's waiting leaves no signal behind that would disturb the next call.
i=0; while [ $i -lt 20 ]; do sleep 0.01 || echo disturbed; echo t > /dev/null; i=$((i + 1)); done; echo $i
