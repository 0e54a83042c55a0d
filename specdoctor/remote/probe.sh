# The probe for a host without Python: POSIX shell, and of tools only cat, head, sed, tail, tr, uname, wc.
# Prints lines of tab-separated fields; the first says the format. Secrets are masked here, before anything is printed.
# Arguments: bytes to keep of each end of a log, then the paths of further logs.

PROC=${HOST_PROC:-/proc}
KEEP=$1
shift
TAB=$(printf '\t')
HIDE=/dev/null

say() { printf '%s\t%s\n' "$1" "$2"; }

is_secret() { # $1: name of a flag or variable
    case $(printf '%s' "$1" | tr 'ABCDEFGHIJKLMNOPQRSTUVWXYZ_' 'abcdefghijklmnopqrstuvwxyz-') in
    *-file | *-path | *-dir) return 1 ;;
    *secret* | *password* | *passwd* | *passphrase* | *credential* | *api-key* | *apikey* | *private-key*) return 0 ;;
    *access-key* | *auth-key* | *-key | hf-token | token | --token) return 0 ;;
    *hf-token | *hub-token | *auth-token | *access-token | *api-token | *bearer-token | *admin-token) return 0 ;;
    esac
    return 1
}

remember() { # a secret value: to be cut out of every text printed later
    case $1 in '' | ? | ?? | ???) return ;; esac
    MASKS="$MASKS;s/$(printf '%s' "$1" | sed 's/[][\.*^$/&;]/\\&/g')/***/g"
}
MASKS='s/^/&/'

mask_text() { # standard input to standard output
    sed -e "$MASKS" \
        -e 's/\([A-Za-z_-]*[Aa][Pp][Ii][-_][Kk][Ee][Yy]["'"'"']\{0,1\}[=: ]\{1,2\}["'"'"']\{0,1\}\)[^"'"'"', )}]\{4,\}/\1***/g' \
        -e 's/\(\([Hh][Ff]\|auth\|access\)[-_]token["'"'"']\{0,1\}[=: ]\{1,2\}["'"'"']\{0,1\}\)[^"'"'"', )}]\{4,\}/\1***/g' \
        -e 's/\([Pp]assw[or]*d["'"'"']\{0,1\}[=:] \{0,1\}["'"'"']\{0,1\}\)[^"'"'"', )}]\{4,\}/\1***/g' \
        -e 's#\(://[^ /@:]*\):[^ /@]*@#\1:***@#g' \
        -e 's/\(Bearer \)[A-Za-z0-9._~+/=-]\{4,\}/\1***/g' \
        -e 's/sk-[A-Za-z0-9_-]\{16,\}/***/g' -e 's/hf_[A-Za-z0-9]\{16,\}/***/g'
}

words() { tr '\000' '\n' 2>$HIDE <"$1"; } # a newline inside a word splits it: known, and rare

learn_secrets() { # $1: folder of a process
    hide=
    while IFS= read -r word; do
        if [ -n "$hide" ]; then
            hide=
            remember "$word"
        else
            case $word in
            -*=*) if is_secret "${word%%=*}"; then remember "${word#*=}"; fi ;;
            -*) if is_secret "$word"; then hide=1; fi ;;
            esac
        fi
    done <<EOF
$(words "$1/cmdline")
EOF
    while IFS= read -r word; do
        case $word in *=*) if is_secret "${word%%=*}"; then remember "${word#*=}"; fi ;; esac
    done <<EOF
$(words "$1/environ")
EOF
}

tell_words() { # $1: folder of a process
    hide=
    words "$1/cmdline" | while IFS= read -r word; do
        if [ -n "$hide" ]; then
            hide=
            say arg '***'
            continue
        fi
        case $word in
        -*=*) if is_secret "${word%%=*}"; then word="${word%%=*}=***"; fi ;;
        -*) if is_secret "$word"; then hide=1; fi ;;
        esac
        say arg "$word"
    done | mask_text
    words "$1/environ" | while IFS= read -r word; do
        name=${word%%=*}
        say envname "$name"
        case $name in
        SGLANG_* | NCCL_* | CUDA_* | HF_* | TORCH* | VLLM_* | FLASHINFER_* | OMP_* | SLURM_JOB_ID | PATH | LD_LIBRARY_PATH | PYTHONPATH | VIRTUAL_ENV)
            if is_secret "$name"; then say env "$name=***"; else say env "$word"; fi
            ;;
        esac
    done | mask_text
}

link() { readlink "$1" 2>$HIDE; }

tell_log() { # $1: path to open, $2: its name, $3: pid or nothing
    [ -f "$1" ] || return
    size=$(wc -c 2>$HIDE <"$1") || return
    printf 'log\t%s\t%s\t%s\n' "$2" "$((size))" "$3"
    if [ "$size" -le "$((2 * KEEP))" ]; then
        mask_text <"$1" | sed "s/^/head$TAB/"
    else
        head -c "$KEEP" "$1" | mask_text | sed "s/^/head$TAB/"
        printf '\n'
        tail -c "$KEEP" "$1" | mask_text | sed "s/^/tail$TAB/"
    fi
    printf '\n'
}

tell_process() { # $1: pid
    folder=$PROC/$1
    say process "$1"
    say stat "$(cat "$folder/stat" 2>$HIDE)"
    say uid "$(sed -n "s/^Uid:$TAB\([0-9]*\).*/\1/p" "$folder/status" 2>$HIDE)"
    say cpus "$(sed -n "s/^Cpus_allowed_list:$TAB//p" "$folder/status" 2>$HIDE)"
    say cgroup "$(head -n 1 "$folder/cgroup" 2>$HIDE)"
    for name in cwd exe fd/0 fd/1 fd/2; do say "link-$name" "$(link "$folder/$name")"; done
    tell_words "$folder"
}

echo specdoctor.shell/1
say hostname "$(cat "$PROC/sys/kernel/hostname" 2>$HIDE || uname -n)"
say kernel "$(uname -r)"
say machine "$(uname -m)"
say boot_id "$(cat "$PROC/sys/kernel/random/boot_id" 2>$HIDE)"
say btime "$(sed -n 's/^btime //p' "$PROC/stat" 2>$HIDE)"
say loadavg "$(cat "$PROC/loadavg" 2>$HIDE)"
say mem_total_kb "$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' "$PROC/meminfo" 2>$HIDE)"
say mem_available_kb "$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' "$PROC/meminfo" 2>$HIDE)"
say now "$(date +%s)"
say ticks "$(getconf CLK_TCK 2>$HIDE || echo 100)"

FOUND=
for folder in "$PROC"/[0-9]*; do
    pid=${folder##*/}
    [ "$pid" = $$ ] && continue
    [ -r "$folder/cmdline" ] || continue
    line=$(tr '\000' ' ' 2>$HIDE <"$folder/cmdline")
    case $line in
    *specdoctor-probe*) continue ;;
    *sglang.launch_server* | *sglang::* | *"sglang serve"* | *vllm.entrypoints* | *"vllm serve"* | *VLLM::* | *llama-server* | *trtllm-serve*)
        FOUND="$FOUND $pid"
        ;;
    esac
done
for pid in $FOUND; do learn_secrets "$PROC/$pid"; done
for pid in $FOUND; do tell_process "$pid"; done
for pid in $FOUND; do
    case $(tr '\000' ' ' 2>$HIDE <"$PROC/$pid/cmdline") in *::*) continue ;; esac
    one=$(link "$PROC/$pid/fd/1")
    two=$(link "$PROC/$pid/fd/2")
    case $one in /dev/*) ;; /*) tell_log "$PROC/$pid/fd/1" "$one" "$pid" ;; esac
    case $two in /dev/* | "$one") ;; /*) tell_log "$PROC/$pid/fd/2" "$two" "$pid" ;; esac
done
for path in "$@"; do tell_log "$path" "$path" ''; done
say end ok
