import Poller
import PollerUpstreams

/// What only the configuration file can say: further Stripe accounts, and HTTP upstreams.
///
/// *Shape*:
/// ```
/// accounts:
///   acct_1:
///     stripe_api_key: {env: ACME_STRIPE_KEY}
///     webhook_secrets: {file: /run/secrets/acme_whsec}
/// upstreams:
///   bank:
///     url: https://bank.example/payments/{id}
///     status: /payment/state
///     final: [settled, rejected]
///     headers: {Authorization: {env: BANK_TOKEN, prefix: "Bearer "}}
///     rate: 10
///     burst: 5
///     concurrency: 10
///     timeout: 5s
/// ```
struct FileSections: Sendable {
    /// One Stripe account besides the default one.
    struct Account: Sendable {
        let apiKey: String
        let webhookSecrets: [String]
    }

    /// The keys of the file that are sections.
    static let keys: Set<String> = ["accounts", "upstreams"]

    private(set) var accounts: [AccountID: Account] = [:]
    private(set) var upstreams: [HTTPSource] = []

    /// Reads one section.
    mutating func read(_ key: String, _ node: YAMLNode) throws(ConfigurationError) {
        for (name, value) in try node.members() {
            let id = try value.checked { () throws(InvalidInput) in try AccountID(name) }
            if key == "accounts" {
                accounts[id] = try Self.account(value)
            } else {
                upstreams.append(try Self.upstream(id, value))
            }
        }
    }

    private static func account(_ node: YAMLNode) throws(ConfigurationError) -> Account {
        _ = try node.members(allowed: ["stripe_api_key", "webhook_secrets"])
        let secrets = try node.member("webhook_secrets")?.secret() ?? ""
        return Account(
            apiKey: try node.required("stripe_api_key").secret(),
            webhookSecrets: secrets.split { $0 == "," || $0.isWhitespace }.map(String.init)
        )
    }

    private static func upstream(
        _ name: AccountID,
        _ node: YAMLNode
    ) throws(ConfigurationError) -> HTTPSource {
        _ = try node.members(
            allowed: [
                "url", "status", "final", "headers", "rate", "burst", "concurrency", "timeout",
            ]
        )
        var headers: [HTTPSource.Header] = []
        for (header, value) in try node.member("headers")?.members() ?? [] {
            let text = try value.secret(isPlainAllowed: true)
            headers.append(
                try value.checked { () throws(InvalidInput) in
                    try HTTPSource.Header(header, text)
                }
            )
        }
        let timeout = Duration(text: try node.member("timeout")?.text() ?? "8s")
        guard let timeout, timeout >= .milliseconds(100), timeout <= .seconds(300) else {
            throw node.wrong("timeout must be a span from 100ms to 5m")
        }
        let limit = LaneLimit(
            ratePerSecond: Double(try node.member("rate")?.count(0...1_000_000) ?? 10),
            burst: try node.member("burst")?.count(1...1_000_000) ?? 5,
            inFlightMax: try node.member("concurrency")?.count(1...1_000_000) ?? 10
        )
        let url = try node.required("url").text()
        let pointer = try node.required("status").text()
        let final = try node.required("final").texts()
        return try node.checked { () throws(InvalidInput) in
            try HTTPSource(
                name: name,
                url: url,
                status: JSONPointer(pointer),
                final: Set(final),
                headers: headers,
                timeout: timeout,
                limit: limit
            )
        }
    }
}
