import PollerDeliveries
import PollerIdentity
import PollerQueue

/// Reads endpoints of the configuration file.
///
/// *Shape*:
/// ```
/// endpoints:
///   orders:
///     url: https://shop.example/hooks/payments
///     account: acct_1
///     types: [source.chargeable, charge.*]   # or operator.*, then without an account
///     metadata: {shop: berlin}
///     final_only: false
///     coalesce: true
///     retry: fast                       # default, fast, none, or a list: [5s, 1m, 10m]
///     timeout: 10s
///     rate: 20
///     burst: 5
///     concurrency: 8
///     headers: {Authorization: {env: SHOP_TOKEN, prefix: "Bearer "}}
///     payload: thin
///     notify_by: {within: 5m, endpoint: alerts}
///     secret: {env: SHOP_SECRET}        # up to three, by comma: the newest first
/// ```
extension YAMLNode {
    /// Reads the endpoint with this name.
    func endpoint(named name: String) throws(ConfigurationError) -> Endpoint {
        try checkMembers(of: "endpoints.NAME")
        let isName = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
        guard isName, (1...64).contains(name.utf8.count) else {
            throw wrong("is not a name of 1 to 64 letters, digits, '-' or '_'")
        }
        let url = try required("url").text()
        let named = try member("account")?.text()
        let types = try member("types")?.texts() ?? []
        let secrets = try endpointSecrets()
        var endpoint = try checked { () throws(InvalidInput) in
            let given = try named.map { text throws(InvalidInput) in try AccountID(text) }
            let account = try Endpoint.account(asking: types, named: given) ?? .main
            return Endpoint(
                id: EndpointID(account: account, name: name),
                account: account,
                name: name,
                url: try NotifyURL(url, field: "url"),
                secrets: secrets
            )
        }
        endpoint.scope = try endpointScope()
        endpoint.coalesces = try flag("coalesce")
        endpoint.retry = try member("retry")?.retryChoice() ?? .standard
        endpoint.timeout = try member("timeout")?.span()
        endpoint.limit = try endpointLimit()
        for (header, value) in try member("headers")?.members() ?? [] {
            let text = try value.secret(isPlainAllowed: true)
            endpoint.headers.append(
                try value.checked { () throws(InvalidInput) in try EndpointHeader(header, text) }
            )
        }
        if let payload = try member("payload")?.text() {
            guard let known = Endpoint.Payload(rawValue: payload) else {
                throw wrong("payload must be full or thin")
            }
            endpoint.payload = known
        }
        endpoint.notifyBy = try member("notify_by")?.notifyBy(account: endpoint.account)
        let read = endpoint
        try checked { () throws(InvalidInput) in try read.check() }
        return endpoint
    }

    private func endpointSecrets() throws(ConfigurationError) -> [EndpointSecret] {
        guard let node = member("secret") else { return [] }
        var secrets: [EndpointSecret] = []
        for text in try node.secret().split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            secrets.append(
                try node.checked { () throws(InvalidInput) in
                    EndpointSecret(try WebhookSecret(String(text)))
                }
            )
        }
        return secrets
    }

    private func endpointScope() throws(ConfigurationError) -> EndpointScope {
        let types = try member("types")?.texts() ?? []
        let sources = try member("sources")?.texts() ?? []
        var metadata: [String: String] = [:]
        for (key, value) in try member("metadata")?.members() ?? [] {
            metadata[key] = try value.text()
        }
        let wanted = metadata
        let finalOnly = try flag("final_only")
        return try checked { () throws(InvalidInput) in
            try EndpointScope(
                types: types,
                sources: sources,
                metadata: wanted,
                finalOnly: finalOnly
            )
        }
    }

    private func endpointLimit() throws(ConfigurationError) -> LaneLimit? {
        let counts = 1...1_000_000
        let rate = try member("rate")?.count(0...1_000_000)
        let burst = try member("burst")?.count(counts)
        let concurrency = try member("concurrency")?.count(counts)
        if rate == nil && burst == nil && concurrency == nil { return nil }
        return LaneLimit(
            ratePerSecond: Double(rate ?? 0),
            burst: burst ?? 1,
            inFlightMax: concurrency ?? 16
        )
    }

    private func retryChoice() throws(ConfigurationError) -> RetryChoice {
        let texts = try texts()
        return try checked { () throws(InvalidInput) in
            if texts.count == 1, Duration(text: texts[0]) == nil {
                return try RetryChoice(named: texts[0])
            }
            // The check rejects a wait of zero.
            return try RetryChoice(waits: texts.map { Duration(text: $0) ?? .zero })
        }
    }

    private func notifyBy(
        account: AccountID
    ) throws(ConfigurationError) -> Endpoint.NotifyBy {
        try checkMembers(of: "endpoints.NAME.notify_by")
        let within = try required("within").span()
        let text = try required("endpoint").text()
        return try checked { () throws(InvalidInput) in
            try Endpoint.NotifyBy(
                within: within,
                fallback: text.hasPrefix("ep_")
                    ? EndpointID(text) : EndpointID(account: account, name: text)
            )
        }
    }

    private func span() throws(ConfigurationError) -> Duration {
        guard let span = Duration(text: try text()) else {
            throw wrong("must be a duration such as 90s or 5m")
        }
        return span
    }

    private func flag(_ name: String) throws(ConfigurationError) -> Bool {
        guard let node = member(name) else { return false }
        guard let flag = Bool(try node.text()) else { throw node.wrong("must be true or false") }
        return flag
    }
}
