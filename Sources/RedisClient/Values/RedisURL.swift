/// The address of Redis and the login.
///
/// ```
/// redis://[user:password@]host[:port][/database]               one server, default port 6379
/// unix://[user:password@]/path/to/socket[?db=3]                one server, a Unix domain socket
/// redis+cluster://[user:password@]host[:port],…                a Redis Cluster, by some nodes
/// redis+sentinel://[login@[login@]]host[:port],…/NAME[/db]     the master NAME of sentinels,
///                                                              default port 26379
/// rediss://…   rediss+cluster://…   rediss+sentinel://…        the same over TLS, with the options
///                                                              ?ca=FILE &cert=FILE &key=FILE (PEM)
/// ```
///
/// The first login of a sentinel URL is for the master, a second one for the sentinels. Without a
/// second one, the sentinels are queried without a login. User names, passwords and paths are
/// percent-decoded. Every description hides the passwords.
package struct RedisURL: Sendable, Hashable {
    /// The kind of deployment.
    package enum Target: Sendable, Hashable {
        case server(RedisEndpoint)
        /// A Redis Cluster. The other nodes are discovered through these.
        case cluster([RedisEndpoint])
        /// The current master of this name, according to the sentinels.
        case sentinel([RedisEndpoint], master: String)
    }

    /// The deployment that the URL names.
    package let target: Target
    /// The login for every data node; `nil` sends no `AUTH`.
    package let login: RedisLogin?
    /// The login for every sentinel.
    package let sentinelLogin: RedisLogin?
    /// The database selected after connecting; 0 is the default of Redis.
    package let database: Int
    /// The PEM files named by the URL; they take precedence over those of
    /// ``RedisConfiguration/tls``.
    package let tlsFiles: RedisTLSFiles

    package init(
        target: Target,
        login: RedisLogin? = nil,
        sentinelLogin: RedisLogin? = nil,
        database: Int = 0,
        tlsFiles: RedisTLSFiles = RedisTLSFiles()
    ) {
        self.target = target
        self.login = login
        self.sentinelLogin = sentinelLogin
        self.database = database
        self.tlsFiles = tlsFiles
    }

    /// The servers that the URL names.
    package var endpoints: [RedisEndpoint] {
        switch target {
        case .server(let endpoint): [endpoint]
        case .cluster(let nodes): nodes
        case .sentinel(let sentinels, _): sentinels
        }
    }

    /// Whether connections are encrypted.
    var isEncrypted: Bool { endpoints.contains(where: \.isEncrypted) }
}

extension RedisURL: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The URL with `***` in place of passwords and without options, safe to log.
    package var description: String {
        var text = isEncrypted ? "rediss" : "redis"
        let hosts = endpoints.map(\.description).joined(separator: ",")
        let path = database == 0 ? "" : "/\(database)"
        switch target {
        case .server(.unix(let socket)):
            return "unix://\(redacted(login))\(socket)\(database == 0 ? "" : "?db=\(database)")"
        case .server: text += "://\(redacted(login))\(hosts)\(path)"
        case .cluster: text += "+cluster://\(redacted(login))\(hosts)"
        case .sentinel(_, let name):
            // An empty first login keeps its position before that of the sentinels.
            let first = login == nil && sentinelLogin != nil ? "@" : redacted(login)
            text += "+sentinel://\(first)\(redacted(sentinelLogin))\(hosts)/\(name)\(path)"
        }
        return text
    }

    /// The same as ``description``.
    package var debugDescription: String { description }

    /// Shows ``description`` only, so that `dump` cannot reveal the password.
    package var customMirror: Mirror { Mirror(self, children: ["url": description]) }

    private func redacted(_ login: RedisLogin?) -> String { login.map { "\($0)@" } ?? "" }
}

extension RedisURL {
    /// The part of the scheme that names the kind of deployment.
    private enum Form: String {
        case server = ""
        case cluster = "+cluster"
        case sentinel = "+sentinel"
    }

    /// Parses a URL; see ``RedisURL`` for the forms.
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
        // sun_path of sockaddr_un has 108 bytes on Linux and 104 on macOS, including the final NUL.
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

/// Why a Redis URL is invalid; the description says what to write instead.
///
/// It never contains the URL, which may hold a password.
package struct RedisURLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The problem and how to correct it.
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
