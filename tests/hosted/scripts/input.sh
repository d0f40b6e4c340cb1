read first; echo "1 $first"
read a b; echo "2 $a|$b"
read third; echo "3 $third"
cat | wc -l
