i=0
while [ $i -lt 100 ]; do
	/usr/bin/busybox true || echo failed
	i=$((i + 1))
done
echo $i
seq 1 50 | xargs -n 10 echo | wc -l
seq 1 3 | xargs -I{} echo '<{}>'
find /tmp -maxdepth 0 -exec echo found {} \;
