extension RedisURL {
    /// Reads a URL; see ``RedisURL`` for the forms.
    package init(_ text: String) throws(RedisURLError) {
        guard let scheme = text.firstRange(of: "://") else {
            throw RedisURLError(
                "a Redis URL starts with redis://, rediss:// or unix://,"
                    + " for example redis://127.0.0.1:6379/0"
            )
        }
        let name = text[..<scheme.lowerBound].lowercased()
        let rest = try Parts(text[scheme.upperBound...])
        switch name {
        case "redis", "rediss": try self.init(network: rest, encrypted: name == "rediss")
        case "unix", "redis+unix": try self.init(socket: rest)
        case "redis+sentinel", "redis+cluster":
            throw RedisURLError(
                "this client speaks to one Redis server: use redis://, rediss:// or unix://"
                    + " instead of \(name)://"
            )
        default:
            throw RedisURLError(
                "unknown scheme of a Redis URL: use redis://, rediss:// (TLS) or unix:// (socket)"
            )
        }
    }

    /// What follows the scheme, cut at its delimiters and not yet decoded.
    private struct Parts {
        let username: String?
        let password: String?
        let authority: Substring
        let path: Substring
        let query: Substring?

        init(_ text: Substring) throws(RedisURLError) {
            guard !text.contains("#") else {
                throw RedisURLError("a Redis URL has no fragment: write # as %23")
            }
            let beforeQuery = text.prefix { $0 != "?" }
            self.query =
                beforeQuery.endIndex == text.endIndex
                ? nil : text[text.index(after: beforeQuery.endIndex)...]
            let login = beforeQuery.prefix { $0 != "/" }
            self.path = beforeQuery[login.endIndex...]
            guard let at = login.lastIndex(of: "@") else {
                self.authority = login
                self.username = nil
                self.password = nil
                return
            }
            self.authority = login[login.index(after: at)...]
            let credentials = login[..<at]
            guard let colon = credentials.firstIndex(of: ":") else {
                throw RedisURLError(
                    "a Redis URL names a user without a password: write user:password@, or"
                        + " :password@ for the default user"
                )
            }
            let user = try percentDecoded(credentials[..<colon], "user name")
            self.username = user.isEmpty ? nil : user
            self.password = try percentDecoded(
                credentials[credentials.index(after: colon)...],
                "password"
            )
        }
    }

    private init(network parts: Parts, encrypted: Bool) throws(RedisURLError) {
        if parts.query != nil {
            throw RedisURLError(
                "a redis:// URL takes no ?options: write the database as path, redis://host:port/3"
            )
        }
        let (host, port) = try hostAndPort(parts.authority)
        let path = parts.path.drop { $0 == "/" }
        self.init(
            transport: encrypted ? .tls(host: host, port: port) : .tcp(host: host, port: port),
            username: parts.username,
            password: parts.password,
            database: path.isEmpty ? 0 : try databaseNumber(path)
        )
    }

    private init(socket parts: Parts) throws(RedisURLError) {
        guard parts.authority.isEmpty, parts.path.count > 1 else {
            throw RedisURLError(
                "a unix:// URL needs an absolute path with three slashes: unix:///run/redis.sock"
            )
        }
        var database = 0
        for option in (parts.query ?? "").split(separator: "&") {
            guard option.hasPrefix("db=") else {
                throw RedisURLError("a unix:// URL knows one option: ?db=NUMBER")
            }
            database = try databaseNumber(option.dropFirst(3))
        }
        let path = try percentDecoded(parts.path, "socket path")
        // sun_path of sockaddr_un has 108 bytes on Linux and 104 on macOS, with a closing NUL.
        guard path.utf8.count <= 103 else {
            throw RedisURLError("the socket path of a unix:// URL may have 103 bytes at most")
        }
        self.init(
            transport: .unix(path: path),
            username: parts.username,
            password: parts.password,
            database: database
        )
    }
}

/// Splits `host`, `host:port`, `[v6]` and `[v6]:port`; an empty host is this machine.
private func hostAndPort(_ authority: Substring) throws(RedisURLError) -> (String, Int) {
    var host = authority
    var port: Substring?
    if authority.hasPrefix("[") {
        guard let close = authority.firstIndex(of: "]") else {
            throw RedisURLError("the IPv6 address of a Redis URL lacks its closing bracket")
        }
        host = authority[authority.index(after: authority.startIndex)..<close]
        let rest = authority[authority.index(after: close)...]
        guard rest.isEmpty || rest.hasPrefix(":") else {
            throw RedisURLError("only :port may follow the IPv6 address of a Redis URL")
        }
        port = rest.isEmpty ? nil : rest.dropFirst()
    } else if let colon = authority.lastIndex(of: ":") {
        guard authority.firstIndex(of: ":") == colon else {
            throw RedisURLError(
                "write an IPv6 address of a Redis URL in brackets, redis://[::1]:6379"
            )
        }
        host = authority[..<colon]
        port = authority[authority.index(after: colon)...]
    }
    let name = host.isEmpty ? "127.0.0.1" : String(host)
    guard let port, !port.isEmpty else { return (name, 6379) }
    guard let number = Int(port), (1...65_535).contains(number) else {
        throw RedisURLError("the port of a Redis URL is a number from 1 to 65535")
    }
    return (name, number)
}

/// Reads a database number.
private func databaseNumber(_ text: Substring) throws(RedisURLError) -> Int {
    guard let number = Int(text), number >= 0 else {
        throw RedisURLError("the database of a Redis URL is a number from 0, as in redis://host/3")
    }
    return number
}

/// Replaces `%41` by `A`; bad escapes and bytes that are not UTF-8 are errors.
private func percentDecoded(_ text: Substring, _ part: String) throws(RedisURLError) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "%") else {
            bytes.append(byte)
            continue
        }
        guard let decoded = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16),
            rest.count >= 2
        else {
            throw RedisURLError("the \(part) of a Redis URL has a stray %: write it as %25")
        }
        rest.removeFirst(2)
        bytes.append(decoded)
    }
    guard let decoded = String(validating: bytes, as: UTF8.self) else {
        throw RedisURLError("the \(part) of a Redis URL is not valid UTF-8")
    }
    return decoded
}
