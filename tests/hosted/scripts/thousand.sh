# A thousand forks and execs; nothing of them is left: no process, no zombie, no descriptor.
before=$(ls /proc/$$/fd | wc -l)
i=0
while [ $i -lt 1000 ]; do
	/usr/bin/busybox true || echo failed $i
	i=$((i + 1))
done
echo $i
after=$(ls /proc/$$/fd | wc -l)
[ $before -eq $after ] && echo same descriptors
ps | grep -c '[t]rue'
ls /proc | grep -c '^[0-9]' > /tmp/count; [ $(cat /tmp/count) -lt 120 ] && echo no more processes
