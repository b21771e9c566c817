# Attempts in shell: `shell.sh <attempt> <token> <home> <plugin> <data> <tcp port> <pid of the server>`.
attempt=$1 token=$2 home=$3 plugin=$4 data=$5 tcp=$6 pid=$7

# stopped <reason> <command…>: the command must fail.
stopped() {
    local reason=$1
    shift
    if "$@" >/dev/null 2>&1; then
        echo "ESCAPED: $*"
        exit
    fi
    reasons=$reason
}

case $attempt in
read_secret)
    stopped "not there" cat "$home/secrets.toml"
    stopped "not there" cat /etc/shadow
    stopped "not there" ls "$home"
    ;;
connect)
    stopped "no way" bash -c "exec 3<>/dev/tcp/127.0.0.1/$tcp"
    stopped "no way" bash -c "echo x >/dev/udp/192.0.2.1/53"
    ;;
tools_of_namespaces)
    stopped "refused" unshare -r true
    stopped "refused" unshare -m true
    stopped "refused" nsenter -t 1 -m true
    stopped "refused" chroot /tmp true
    stopped "refused" mount -t tmpfs none /tmp
    stopped "refused" umount -l /proc
    stopped "refused" mount -o remount,rw "$plugin"
    stopped "refused" setpriv --reuid 0 true
    ;;
setuid_copy)
    cp /bin/sh "$data/sh"
    stopped "refused" chmod u+s "$data/sh"
    stopped "refused" chmod 6755 "$data/sh"
    stopped "refused" install -m 4755 /bin/sh "$data/sh2"
    rm -f "$data/sh2"
    ;;
kill_everybody)
    trap '' TERM HUP
    stopped "not there" kill -9 "$pid"
    kill -TERM -- -1 2>/dev/null
    reasons="not there"
    ;;
raise_limits)
    stopped "refused" bash -c "ulimit -n 100000"
    stopped "refused" bash -c "ulimit -f unlimited"
    stopped "refused" bash -c "ulimit -c unlimited"
    ;;
fork_bomb)
    bomb() { bomb | bomb & }
    bomb
    wait
    while :; do bomb; done
    ;;
daemon)
    # The program ends, something of it means to stay: with the streams, in a session of its own.
    setsid sh -c "trap '' HUP TERM; sleep 1000 # $token" &
    (nohup sleep "1000.0" "0$token" 2>/dev/null &)
    reasons="left behind"
    ;;
esac

echo
echo "blocked: $reasons"
