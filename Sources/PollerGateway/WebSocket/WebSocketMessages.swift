import Foundation
import JSONText
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

/// Messages to clients of the WebSocket, as JSON texts; events are embedded as the bytes that
/// were recorded.
///
/// ```
/// {"op":"hello","ping_ms":25000,"limits":{"frame_bytes":…,"subscriptions":…,"sources":…,"types":…,
///  "messages_per_second":…}}
/// {"op":"subscribed","ref":1,"sub":"s1","cursor":"…","recovered":true}     false with a "reason"
/// {"op":"snapshot","sub":"s1","cursor":"…","account":"…","source":"src_…","kind":"source",
///  "state":"open","status":"pending","final":false,"seq":1,"object":{…}}
/// {"op":"event","sub":"s1","cursor":"…","event":{…}}
/// {"op":"caught_up","sub":"s1","cursor":"…"}
/// {"op":"settled","sub":"s1","source":"src_…"}
/// {"op":"unsubscribed","sub":"s1"}      {"op":"pong"}
/// {"op":"error","ref":1,"code":"bad_request","message":"…"}
/// {"op":"bye","code":4101,"reason":"…","retry_ms":[500,8000],"cursor":"…"}
/// ```
/// `ref` is the client's own number for the message that is answered; a `cursor` stands for everything
/// told before it on this connection. Texts are put together rather than encoded from values: one event
/// goes to thousands of connections, and its bytes are copied, never parsed.
enum ServerMessage {
    /// The first message after the credentials were accepted.
    static func hello(_ limits: GatewayLimits) -> String {
        """
        {"op":"hello","ping_ms":\(limits.pingInterval.ms),"limits":{\
        "frame_bytes":\(limits.frameBytesMax),"subscriptions":\(limits.subscriptionsMax),\
        "sources":\(limits.sourcesMax),"types":\(limits.typesMax),\
        "messages_per_second":\(limits.messagesPerSecond)}}
        """
    }

    /// What a subscription has to say.
    static func text(_ message: LiveMessage, _ subscription: Subscription) -> String {
        let sub = subscription.id
        switch message {
        case .subscribed(let cursor, let lost):
            let reason = lost.map { ",\"reason\":\(JSONWriter.literal($0))" } ?? ""
            return """
                {"op":"subscribed"\(ref(subscription.ref)),"sub":"\(sub)",\
                "cursor":"\(cursor)","recovered":\(lost == nil)\(reason)}
                """
        case .snapshot(let snapshot, let cursor):
            let members = state(of: snapshot, subscription.principal.view)
            return "{\"op\":\"snapshot\",\"sub\":\"\(sub)\",\"cursor\":\"\(cursor)\",\(members)}"
        case .event(let event, let cursor):
            let json = event.json(for: subscription.principal.view)
            return
                "{\"op\":\"event\",\"sub\":\"\(sub)\",\"cursor\":\"\(cursor)\",\"event\":\(json)}"
        case .caughtUp(let cursor):
            return "{\"op\":\"caught_up\",\"sub\":\"\(sub)\",\"cursor\":\"\(cursor)\"}"
        case .settled(let source, _):
            return "{\"op\":\"settled\",\"sub\":\"\(sub)\",\"source\":\"\(source)\"}"
        case .unavailable:
            return error(
                ref: subscription.ref,
                code: "unavailable",
                message: "the store cannot be reached; subscribe again in a moment"
            )
        }
    }

    /// The members that tell the state of a source; `object` is the upstream's, or null.
    static func state(of snapshot: WatchSnapshot, _ view: EventView) -> String {
        let watch = snapshot.watch
        let status = watch.state.status.map { JSONWriter.literal($0.description) } ?? "null"
        let object = snapshot.lastEvent?.object ?? "null"
        let account = view == .full ? "\"account\":\"\(watch.key.account)\"," : ""
        return """
            \(account)"source":"\(watch.key.source)","kind":"\(watch.key.kind.rawValue)",\
            "state":"\(snapshot.closed == nil ? "open" : "closed")","status":\(status),\
            "final":\(snapshot.lastEvent?.final ?? false),"seq":\(watch.seq),\
            "object":\(view == .full ? object : PublicView.object(object))
            """
    }

    static func unsubscribed(sub: String) -> String {
        "{\"op\":\"unsubscribed\",\"sub\":\"\(sub)\"}"
    }

    static let pong = "{\"op\":\"pong\"}"

    static func error(ref number: Int?, code: String, message: String) -> String {
        """
        {"op":"error"\(ref(number)),"code":"\(code)","message":\(JSONWriter.literal(message))}
        """
    }

    /// The last message before the close frame.
    ///
    /// Everything before `cursor` has been sent on this connection; without one the client must
    /// come back with the last one it has read.
    static func bye(_ code: CloseCode, reason: String, cursor: String?) -> String {
        let retry = code.retryMs.map { ",\"retry_ms\":[\($0.lowerBound),\($0.upperBound)]" } ?? ""
        let cursor = cursor.map { ",\"cursor\":\"\($0)\"" } ?? ""
        return """
            {"op":"bye","code":\(code.rawValue),"reason":\(JSONWriter.literal(reason))\
            \(retry)\(cursor)}
            """
    }

    private static func ref(_ number: Int?) -> String {
        number.map { ",\"ref\":\($0)" } ?? ""
    }
}

extension Event {
    /// The event as this client may see it.
    func json(for view: EventView) -> String {
        view == .full ? json : PublicView.json(of: self)
    }
}
