/// The address of one Redis server; it also identifies a node of a Cluster.
package enum RedisEndpoint: Sendable, Hashable {
    /// Plain TCP.
    case tcp(host: String, port: Int)
    /// TLS over TCP.
    case tls(host: String, port: Int)
    /// A Unix domain socket.
    case unix(path: String)

    /// Makes an endpoint from an address that another node or a sentinel has returned.
    init(host: String, port: Int, isEncrypted: Bool) {
        self = isEncrypted ? .tls(host: host, port: port) : .tcp(host: host, port: port)
    }

    /// The host; `nil` for a socket.
    package var host: String? {
        switch self {
        case .tcp(let host, _), .tls(let host, _): host
        case .unix: nil
        }
    }

    /// The port; `nil` for a socket.
    package var port: Int? {
        switch self {
        case .tcp(_, let port), .tls(_, let port): port
        case .unix: nil
        }
    }

    /// Whether the connection uses TLS.
    var isEncrypted: Bool {
        if case .tls = self { return true }
        return false
    }
}

extension RedisEndpoint: CustomStringConvertible {
    /// `host:port`, with brackets around an IPv6 address, or the socket's path.
    package var description: String {
        switch self {
        case .tcp(let host, let port), .tls(let host, let port):
            host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): path
        }
    }
}

/// A user and its password, for `AUTH`; no description shows the password.
package struct RedisLogin: Sendable, Hashable {
    /// The ACL user; `nil` is Redis' `default` user.
    package let username: String?
    package let password: String

    package init(username: String? = nil, password: String) {
        self.username = username
        self.password = password
    }

    /// The command that logs in.
    var command: RedisCommand {
        let user = username.map { [RedisArgument.string($0)] } ?? []
        return RedisCommand("AUTH", user + [.string(password)])
    }
}

extension RedisLogin: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `user:***`.
    package var description: String { "\(username ?? ""):***" }
    /// The same as ``description``.
    package var debugDescription: String { description }
    /// Shows ``description`` only, so that `dump` cannot reveal the password.
    package var customMirror: Mirror { Mirror(self, children: ["login": description]) }
}
