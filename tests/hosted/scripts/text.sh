cd /tmp
printf 'alpha 1\nbeta 22\ngamma 333\n' > t
grep -n et t; grep -c a t; grep -v a t || echo none; grep -E '[0-9]{2,}' t
sed 's/a/A/g; /beta/d' t; sed -n '$p' t; sed '2i\
new' t
awk '{ s += $2; print NR ": " $1 } END { print s }' t
awk -F'[ ]' 'length($2) > 1 { printf "%s-%05d\n", $1, $2 }' t
tr a-z A-Z < t | tail -1
sort -k2 -n -r t; sort -u t t | wc -l
cut -c 1-3 t; wc t
paste -d, t t | head -1
head -c 5 t; echo; tail -c 4 t
od -c t | head -2
rev t 2>/dev/null | head -1
