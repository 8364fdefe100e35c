//go:build linux

package suite

import "github.com/archivefs/archivefs/internal/lab/bench/delay"

// Settings of the other mounts. The tuned ones keep what they know for an hour and take off
// the brakes that are meant for servers of others.
const (
	rcloneRemote = ` :webdav: "$MNT" --config /dev/null --webdav-url "$URL/" --webdav-vendor other --cache-dir "$STATE/cache" `
	rcloneTuned  = "--vfs-cache-mode full --dir-cache-time 1h --attr-timeout 1h --vfs-fast-fingerprint --vfs-write-back 100ms " +
		"--transfers 8 --poll-interval 0 --webdav-pacer-min-sleep 0 "

	// ignore_dav_header: nginx says DAV: 2. buf_size: 16, the default, is too little for new
	// kernels, which read directories in larger pieces.
	davfsBase  = `ask_auth 0\nignore_dav_header 1\nbuf_size 1024\ncache_dir $STATE/dav\n`
	davfsTuned = `use_locks 0\ngui_optimize 1\ndir_refresh 3600\nfile_refresh 3600\ntable_size 65536\ncache_size 4096\ndelay_upload 0\n`

	sshfsTuned = ",max_conns=4,kernel_cache,dir_cache=yes,dcache_timeout=3600,dcache_stat_timeout=3600,dcache_dir_timeout=3600," +
		"dcache_max_size=200000,entry_timeout=3600,attr_timeout=3600"

	// Names and contents of juicefs lie on this machine, so it is a reference and no network
	// mount. The volume is made anew in each run.
	juicefsVolume = `"sqlite3://$SERVERS/juicefs/meta.db"`
	juicefsFormat = `mkdir -p "$SERVERS/juicefs" && juicefs format ` + juicefsVolume +
		` bench --storage file --bucket "$SERVERS/juicefs/contents/" --no-update --trash-days 0`
	juicefsMount = `exec juicefs mount ` + juicefsVolume + ` "$MNT" --no-usage-report --no-bgjob --attr-cache 3600 --entry-cache 3600 ` +
		`--dir-entry-cache 3600 --open-cache 3600 --readdir-cache --cache-dir "$STATE/cache" --log "$STATE/log"`
)

func peers() []system {
	rclone := func(name, command, options string, only ...string) system {
		return system{
			name: name, needs: []string{"rclone", "nginx"}, root: true, server: webDAV, mode: delay.HTTP,
			mount: "exec rclone " + command + rcloneRemote + options, only: only, requests: loggedRequests, arrived: arrivedInTree,
		}
	}
	davfs := func(name, options string) system {
		return system{
			name: name, needs: []string{"mount.davfs", "nginx"}, root: true, server: webDAV, mode: delay.HTTP,
			mount: `install -d -g davfs2 -m 775 "$STATE/dav" && printf "` + davfsBase + options + `" > "$STATE/davfs2.conf" && ` +
				`exec mount.davfs -o "conf=$STATE/davfs2.conf" "$URL/" "$MNT"`,
			requests: loggedRequests, arrived: arrivedInTree,
		}
	}
	sshfs := func(name, options string) system {
		return system{
			name: name, needs: []string{"sshfs", "ssh", "ssh-keygen", "/usr/sbin/sshd"}, root: true, server: sftp, mode: delay.TCP,
			mount: `exec sshfs -f -p "$PORT" -o "IdentityFile=$SERVERS/ssh/id,IdentitiesOnly=yes,StrictHostKeyChecking=no,` +
				`UserKnownHostsFile=/dev/null,LogLevel=ERROR` + options + `" "root@$HOST:$TREE" "$MNT"`,
			arrived: arrivedInTree,
		}
	}
	return []system{
		rclone("rclone-mount", "mount", ""),
		rclone("rclone-mount-tuned", "mount", rcloneTuned),
		rclone("rclone-mount2-tuned", "mount2", rcloneTuned),
		rclone("rclone-mount-refresh", "mount", rcloneTuned+"--vfs-refresh --checkers 16", "find", "delay-find"),
		davfs("davfs2-tuned", davfsTuned),
		sshfs("sshfs", ""),
		sshfs("sshfs-tuned", sshfsTuned),
		{
			name: "juicefs-tuned", needs: []string{"juicefs"}, root: true, volume: juicefsFormat, mount: juicefsMount, arrived: arrivedInMount,
		},
	}
}
