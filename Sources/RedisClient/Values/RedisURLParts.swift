import SafeNumbers

/// The part of a Redis URL after the scheme, split at its delimiters and decoded on demand.
struct RedisURLParts {
    /// The position of a login before the host.
    enum LoginPosition {
        /// The only login; an `@` in its password is tolerated.
        case only
        /// The first login of a sentinel URL, for the master.
        case first
        /// The second login of a sentinel URL, for the sentinels.
        case second
    }

    let authority: Substring
    let path: Substring
    private let logins: Substring?
    private let query: Substring?

    init(_ text: Substring) throws(RedisURLError) {
        guard !text.contains("#") else {
            throw RedisURLError("a Redis URL has no fragment: write # as %23")
        }
        let beforeQuery = text.prefix { $0 != "?" }
        self.query =
            beforeQuery.endIndex == text.endIndex
            ? nil : text[text.index(after: beforeQuery.endIndex)...]
        let beforePath = beforeQuery.prefix { $0 != "/" }
        self.path = beforeQuery[beforePath.endIndex...]
        let at = beforePath.lastIndex(of: "@")
        self.logins = at.map { beforePath[..<$0] }
        self.authority = at.map { beforePath[beforePath.index(after: $0)...] } ?? beforePath
    }

    /// Returns the login at a position, if there is one.
    func login(_ place: LoginPosition) throws(RedisURLError) -> RedisLogin? {
        guard let logins else { return nil }
        if place == .only { return try Self.login(logins) }
        let cut = logins.split(separator: "@", omittingEmptySubsequences: false)
        guard cut.count <= 2 else {
            throw RedisURLError(
                "a redis+sentinel:// URL has two logins at most: write an @ in a password as %40"
            )
        }
        let index = place == .first ? 0 : 1
        return index < cut.count && !cut[index].isEmpty ? try Self.login(cut[index]) : nil
    }

    /// Returns every server that the authority names.
    func endpoints(
        _ defaultPort: Int,
        _ isEncrypted: Bool
    ) throws(RedisURLError) -> [RedisEndpoint] {
        var endpoints: [RedisEndpoint] = []
        for host in authority.split(separator: ",", omittingEmptySubsequences: false) {
            let endpoint = try Self.endpoint(host, defaultPort, isEncrypted)
            if !endpoints.contains(endpoint) { endpoints.append(endpoint) }
        }
        return endpoints
    }

    /// Returns the files that the options name.
    func tlsFiles(_ isEncrypted: Bool) throws(RedisURLError) -> RedisTLSFiles {
        let options = try options(
            known: isEncrypted ? ["ca", "cert", "key"] : [],
            of: isEncrypted ? "a rediss:// URL" : "a redis:// URL without TLS"
        )
        guard (options["cert"] == nil) == (options["key"] == nil) else {
            throw RedisURLError("the options cert and key of a Redis URL go together")
        }
        return RedisTLSFiles(
            authorities: options["ca"],
            certificate: options["cert"],
            key: options["key"]
        )
    }

    /// Returns the options by name; each may occur once.
    func options(
        known: [String],
        of form: String
    ) throws(RedisURLError) -> [String: String] {
        guard let query else { return [:] }
        var options: [String: String] = [:]
        for option in query.split(separator: "&") {
            let parts = option.split(
                separator: "=",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            let name = String(parts.first ?? "")
            guard known.contains(name), options[name] == nil, parts.count == 2, !parts[1].isEmpty
            else {
                let names = known.map { "?\($0)=" }.joined(separator: ", ")
                throw RedisURLError(
                    known.isEmpty
                        ? "\(form) takes no ?options: write the database as path,"
                            + " redis://host:port/3, and rediss:// for TLS"
                        : "\(form) takes these options, each once and with a value: \(names)"
                )
            }
            options[name] = try Self.decoded(parts[1], "options")
        }
        return options
    }

    private static func login(_ text: Substring) throws(RedisURLError) -> RedisLogin {
        guard let colon = text.firstIndex(of: ":") else {
            throw RedisURLError(
                "a Redis URL names a user without a password: write user:password@, or"
                    + " :password@ for the default user"
            )
        }
        let user = try decoded(text[..<colon], "user name")
        return RedisLogin(
            username: user.isEmpty ? nil : user,
            password: try decoded(text[text.index(after: colon)...], "password")
        )
    }

    /// Parses `host`, `host:port`, `[v6]` or `[v6]:port`; an empty host is `127.0.0.1`.
    static func endpoint(
        _ authority: Substring,
        _ defaultPort: Int,
        _ isEncrypted: Bool
    ) throws(RedisURLError) -> RedisEndpoint {
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
        var number = defaultPort
        if let port, !port.isEmpty {
            guard let given = Int(decimal: port), (1...65_535).contains(given) else {
                throw RedisURLError("the port of a Redis URL is a number from 1 to 65535")
            }
            number = given
        }
        return RedisEndpoint(host: name, port: number, isEncrypted: isEncrypted)
    }

    /// Parses a database number; an empty text is 0.
    static func database(_ text: Substring) throws(RedisURLError) -> Int {
        if text.isEmpty { return 0 }
        guard let number = Int(safe: text), number >= 0 else {
            throw RedisURLError(
                "the database of a Redis URL is a number from 0, as in redis://host/3"
            )
        }
        return number
    }

    /// Replaces `%41` by `A`; invalid escapes and bytes that are not UTF-8 are errors.
    static func decoded(_ text: Substring, _ part: String) throws(RedisURLError) -> String {
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
}
