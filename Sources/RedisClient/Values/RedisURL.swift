/// Where Redis is and how to log in.
///
/// ```
/// redis://[user:password@]host[:port][/database]               one server, port 6379 unless given
/// unix://[user:password@]/path/to/socket[?db=3]                one server, a Unix domain socket
/// redis+cluster://[user:password@]host[:port],…                a Redis Cluster, by some of its nodes
/// redis+sentinel://[login@[login@]]host[:port],…/NAME[/db]     the master NAME of sentinels,
///                                                              port 26379 unless given
/// rediss://…   rediss+cluster://…   rediss+sentinel://…        the same over TLS, with the options
///                                                              ?ca=FILE &cert=FILE &key=FILE (PEM)
/// ```
/// The first login of a sentinel URL is the master's, a second one the sentinels'; without it the
/// sentinels are asked without a login. User names, passwords and paths are percent-decoded. Every
/// description hides the passwords.
package struct RedisURL: Sendable, Hashable {
    /// What is at the other end.
    package enum Target: Sendable, Hashable {
        /// One server.
        case server(RedisEndpoint)
        /// A Redis Cluster; these nodes are asked for all others.
        case cluster([RedisEndpoint])
        /// The server that the sentinels call the master of this name.
        case sentinel([RedisEndpoint], master: String)
    }

    /// What is at the other end.
    package let target: Target
    /// The login at every data node; `nil` sends no `AUTH`.
    package let login: RedisLogin?
    /// The login at every sentinel.
    package let sentinelLogin: RedisLogin?
    /// The database selected after connecting; 0 is where Redis starts anyway.
    package let database: Int
    /// The PEM files named by the URL; they go before those of ``RedisConfiguration/tls``.
    package let tlsFiles: RedisTLSFiles

    /// Makes a URL from its parts.
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
            return "unix://\(shown(login))\(socket)\(database == 0 ? "" : "?db=\(database)")"
        case .server: text += "://\(shown(login))\(hosts)\(path)"
        case .cluster: text += "+cluster://\(shown(login))\(hosts)"
        case .sentinel(_, let name):
            // An empty login keeps its place before the sentinels'.
            let first = login == nil && sentinelLogin != nil ? "@" : shown(login)
            text += "+sentinel://\(first)\(shown(sentinelLogin))\(hosts)/\(name)\(path)"
        }
        return text
    }

    /// The same as ``description``.
    package var debugDescription: String { description }

    /// Shows ``description`` only, so that `dump` cannot reveal the password.
    package var customMirror: Mirror { Mirror(self, children: ["url": description]) }

    private func shown(_ login: RedisLogin?) -> String { login.map { "\($0)@" } ?? "" }
}
