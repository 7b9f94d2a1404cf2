/// Where a Redis server is and how to log in.
///
/// ```
/// redis://[user:password@]host[:port][/database]      plain TCP, port 6379 unless given
/// rediss://…                                          the same over TLS
/// unix://[user:password@]/path/to/socket[?db=3]       a Unix domain socket
/// ```
/// User name, password and socket path are percent-decoded. Every description hides the password.
package struct RedisURL: Sendable, Hashable {
    /// How to reach the server.
    package enum Transport: Sendable, Hashable {
        /// Plain TCP.
        case tcp(host: String, port: Int)
        /// TLS over TCP.
        case tls(host: String, port: Int)
        /// A Unix domain socket.
        case unix(path: String)
    }

    /// How to reach the server.
    package let transport: Transport
    /// The ACL user; `nil` is Redis' `default` user.
    package let username: String?
    /// The password; `nil` sends no `AUTH`.
    package let password: String?
    /// The database selected after connecting; 0 is where Redis starts anyway.
    package let database: Int

    /// Makes a URL from its parts.
    package init(
        transport: Transport,
        username: String? = nil,
        password: String? = nil,
        database: Int = 0
    ) {
        self.transport = transport
        self.username = username
        self.password = password
        self.database = database
    }
}

extension RedisURL: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The URL with `***` in place of the password, safe to log.
    package var description: String {
        let login = password == nil ? "" : "\(username ?? ""):***@"
        let path = database == 0 ? "" : "/\(database)"
        switch transport {
        case .tcp(let host, let port): return "redis://\(login)\(Self.bracket(host)):\(port)\(path)"
        case .tls(let host, let port):
            return "rediss://\(login)\(Self.bracket(host)):\(port)\(path)"
        case .unix(let socket):
            return "unix://\(login)\(socket)\(database == 0 ? "" : "?db=\(database)")"
        }
    }

    /// The same as ``description``.
    package var debugDescription: String { description }

    /// Shows ``description`` only, so that `dump` cannot reveal the password.
    package var customMirror: Mirror { Mirror(self, children: ["url": description]) }

    /// An IPv6 address needs brackets before a port.
    private static func bracket(_ host: String) -> String {
        host.contains(":") ? "[\(host)]" : host
    }
}
