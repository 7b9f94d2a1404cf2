extension RedisURL {
    private enum Form: String {
        case server = ""
        case cluster = "+cluster"
        case sentinel = "+sentinel"
    }

    /// Reads a URL; see ``RedisURL`` for the forms.
    package init(_ text: String) throws(RedisURLError) {
        guard let scheme = text.firstRange(of: "://") else {
            throw RedisURLError(
                "a Redis URL starts with redis://, rediss://, redis+cluster://, redis+sentinel:// or"
                    + " unix://, for example redis://127.0.0.1:6379/0"
            )
        }
        let name = text[..<scheme.lowerBound].lowercased()
        let parts = try RedisURLParts(text[scheme.upperBound...])
        if name == "unix" || name == "redis+unix" {
            try self.init(socket: parts)
            return
        }
        let isEncrypted = name.hasPrefix("rediss")
        guard name.hasPrefix("redis"),
            let form = Form(rawValue: String(name.dropFirst(isEncrypted ? 6 : 5)))
        else {
            throw RedisURLError(
                "unknown scheme of a Redis URL: use redis://, rediss:// (TLS), unix:// (socket),"
                    + " redis+cluster:// or redis+sentinel://"
            )
        }
        switch form {
        case .server: try self.init(server: parts, isEncrypted)
        case .cluster: try self.init(cluster: parts, isEncrypted)
        case .sentinel: try self.init(sentinel: parts, isEncrypted)
        }
    }

    private init(server parts: RedisURLParts, _ isEncrypted: Bool) throws(RedisURLError) {
        guard !parts.authority.contains(",") else {
            throw RedisURLError(
                "a redis:// URL names one server: use redis+cluster:// or redis+sentinel:// for more"
            )
        }
        self.init(
            target: .server(try RedisURLParts.endpoint(parts.authority, 6379, isEncrypted)),
            login: try parts.login(.only),
            database: try RedisURLParts.database(parts.path.drop { $0 == "/" }),
            tlsFiles: try parts.tlsFiles(isEncrypted)
        )
    }

    private init(cluster parts: RedisURLParts, _ isEncrypted: Bool) throws(RedisURLError) {
        guard try RedisURLParts.database(parts.path.drop { $0 == "/" }) == 0 else {
            throw RedisURLError("a Redis Cluster has database 0 only: leave the path out")
        }
        self.init(
            target: .cluster(try parts.endpoints(6379, isEncrypted)),
            login: try parts.login(.only),
            tlsFiles: try parts.tlsFiles(isEncrypted)
        )
    }

    private init(sentinel parts: RedisURLParts, _ isEncrypted: Bool) throws(RedisURLError) {
        let path = parts.path.split(separator: "/", maxSplits: 1)
        guard let name = path.first else {
            throw RedisURLError(
                "a redis+sentinel:// URL ends with the name of the master, as sentinel.conf has it:"
                    + " redis+sentinel://host:26379,host:26379/mymaster"
            )
        }
        self.init(
            target: .sentinel(
                try parts.endpoints(26_379, isEncrypted),
                master: try RedisURLParts.decoded(name, "master's name")
            ),
            login: try parts.login(.first),
            sentinelLogin: try parts.login(.second),
            database: path.count > 1 ? try RedisURLParts.database(path[1]) : 0,
            tlsFiles: try parts.tlsFiles(isEncrypted)
        )
    }

    private init(socket parts: RedisURLParts) throws(RedisURLError) {
        guard parts.authority.isEmpty, parts.path.count > 1 else {
            throw RedisURLError(
                "a unix:// URL needs an absolute path with three slashes: unix:///run/redis.sock"
            )
        }
        let options = try parts.options(known: ["db"], of: "a unix:// URL")
        let path = try RedisURLParts.decoded(parts.path, "socket path")
        // sun_path of sockaddr_un has 108 bytes on Linux and 104 on macOS, with a closing NUL.
        guard path.utf8.count <= 103 else {
            throw RedisURLError("the socket path of a unix:// URL may have 103 bytes at most")
        }
        self.init(
            target: .server(.unix(path: path)),
            login: try parts.login(.only),
            database: try RedisURLParts.database((options["db"] ?? "")[...])
        )
    }
}
