#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request to watch a source.
public struct WatchRequest: Hashable, Sendable {
    /// What to watch.
    public var name: WatchName
    /// Where the source of a configured upstream is, in place of its id.
    public var url: String?
    /// `interactive`, `standard` or `patient`; nil is the server's choice.
    public var policy: String?
    /// How far to follow: `left_pending`, `settled` or `final`; nil is `settled`.
    public var until: String?
    /// The span to the deadline, 1 s to 90 days; nil is what its kind lives for.
    public var timeout: Duration?
    /// Where to tell: `https://…`, `mailto:…`, `redis+stream:NAME`; at most 16.
    public var notify: [String]
    /// The source's own secret, where the server polls with a publishable key.
    public var clientSecret: String?
    /// Your own names and values, repeated in the watch; at most 4,096 bytes as JSON.
    public var metadata: [String: String]
    /// What to charge, exactly once, when the source becomes chargeable; nil charges nothing.
    public var charge: WatchCharge?

    /// Describes what to watch.
    public init(
        _ name: WatchName,
        policy: String? = nil,
        until: String? = nil,
        timeout: Duration? = nil,
        notify: [String] = [],
        clientSecret: String? = nil,
        metadata: [String: String] = [:],
        charge: WatchCharge? = nil
    ) {
        self.name = name
        self.policy = policy
        self.until = until
        self.timeout = timeout
        self.notify = notify
        self.clientSecret = clientSecret
        self.metadata = metadata
        self.charge = charge
    }

    /// Describes what to watch under the default account.
    public init(source: String, policy: String? = nil, timeout: Duration? = nil) {
        self.init(WatchName(source), policy: policy, timeout: timeout)
    }

    /// Describes what to watch by its URL, which must be one of an upstream that the server is
    /// configured with.
    public init(url: String, account: String? = nil) {
        self.init(WatchName("", account: account, kind: "http"))
        self.url = url
    }

    /// The request as one line of JSON.
    func line(_ encoder: JSONEncoder) throws(PollerError) -> String {
        let wire = Wire(
            source: name.source.isEmpty ? nil : name.source,
            account: name.account,
            kind: name.kind,
            url: url,
            policy: policy,
            until: until,
            timeout: timeout.map(\.spanText),
            notify: notify.isEmpty ? nil : notify,
            clientSecret: clientSecret,
            metadata: metadata.isEmpty ? nil : metadata,
            charge: charge
        )
        do {
            return String(decoding: try encoder.encode(wire), as: UTF8.self)
        } catch {
            throw .invalidConfiguration("the request cannot be written as JSON: \(error)")
        }
    }

    private struct Wire: Encodable {
        let source: String?
        let account: String?
        let kind: String?
        let url: String?
        let policy: String?
        let until: String?
        let timeout: String?
        let notify: [String]?
        let clientSecret: String?
        let metadata: [String: String]?
        let charge: WatchCharge?

        enum CodingKeys: String, CodingKey {
            case source, account, kind, url, policy, until, timeout, notify, metadata, charge
            case clientSecret = "client_secret"
        }
    }
}

extension Duration {
    /// The span as the API reads it, in whole milliseconds.
    var spanText: String {
        "\(components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)ms"
    }
}
