import Foundation
import Poller

/// A message from a client, as it came.
///
/// ```
/// {"op":"auth","token":"…"}      {"op":"auth","source":"src_…","client_secret":"…"}
/// {"op":"subscribe","ref":1,"sources":["src_…"],"types":["source.*"],"from":"<cursor>"|"now"|"snapshot"}
/// {"op":"subscribe","ref":2,"sources":["src_…"],"account":"default","after_seq":3}
/// {"op":"unsubscribe","sub":"s1"}      {"op":"ping"}
/// ```
/// Named sources without an `account` are those of the default account.
struct ClientMessage: Decodable, Hashable, Sendable {
    let op: String
    let token: String?
    let source: String?
    let clientSecret: String?
    let ref: Int?
    let account: String?
    let sources: [String]?
    let types: [String]?
    let from: String?
    let afterSeq: Int?
    let sub: String?

    enum CodingKeys: String, CodingKey {
        case op, token, source, ref, account, sources, types, from, sub
        case clientSecret = "client_secret"
        case afterSeq = "after_seq"
    }

    /// Reads a message, or nil when it is none.
    ///
    /// Unknown members are passed over: clients may be newer.
    init?(_ text: String) {
        guard let message = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else {
            return nil
        }
        self = message
    }

    /// What an `auth` shows; nil when it shows nothing.
    func credentials() throws(InvalidInput) -> Authorizer.Credentials? {
        if let token { return .token(token) }
        guard let source, let clientSecret else { return nil }
        let key = try WatchKey(account: account, source: source, kind: nil)
        return .secret(key, clientSecret)
    }
}

extension WatchKey {
    /// Names a watch by texts from outside; the kind is inferred when it is not given.
    init(account: String?, source: String, kind: String?) throws(InvalidInput) {
        let id = try SourceID(source)
        let given = kind.map { SourceKind(rawValue: $0) }
        if case .some(nil) = given {
            throw InvalidInput(field: "kind", message: "must be source or payment_intent")
        }
        self.init(
            account: try account.map { text throws(InvalidInput) in try AccountID(text) } ?? .main,
            source: id,
            kind: (given ?? SourceKind(inferredFrom: id)) ?? .source
        )
    }
}
