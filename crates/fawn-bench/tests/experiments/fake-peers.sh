#!/bin/sh
# Stands in for fawn-peers: notes how it was called in `calls` beside the engines' directories, and behaves as the engine is
# called.
line="$*"
experiment=$1
while [ $# -gt 0 ]; do
    case $1 in
        --dir) dir=$2 ;;
        --engine) engine=$2 ;;
        --entries) entries=$2 ;;
    esac
    shift
done
echo "$line" >>"$(dirname "$dir")/calls"
report() {
    echo "{\"experiment\": \"$1\", \"parameters\": {}, \"memory\": null, \"notes\": [\"memory: all of it\"],
        \"rows\": [{\"puts_a_second\": 5.5, \"entries\": $entries, \"gets_a_second\": 7}]}"
}
case $engine in
    sound)
        echo 'progress 1 2 loading' >&2
        report "$experiment"
        ;;
    failing)
        echo 'a warning' >&2
        echo 'fawn-peers: the disk is full' >&2
        exit 1
        ;;
    silent) exit 3 ;;
    chatty) echo hello ;;
    astray) report hit ;;
esac
