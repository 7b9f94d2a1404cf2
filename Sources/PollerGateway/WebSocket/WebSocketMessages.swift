import JSONText
import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerWatches
import PollerWire

extension ClientMessage {
    /// Reads a message, or returns `nil` for an invalid one.
    init?(_ text: String) {
        // The reason is not needed, because any invalid message closes the connection with the same code.
        guard let json = RawJSON(text), let message = try? Self(reading: json) else {
            return nil
        }
        self = message
    }

    /// Returns the credentials of an `auth` message, or `nil` if it has none.
    func credentials() throws(InvalidInput) -> Authorizer.Credentials? {
        if let token { return .token(token) }
        guard let source, let clientSecret else { return nil }
        let key = try WatchKey(account: account, source: source, kind: nil)
        return .secret(key, clientSecret)
    }
}

extension WatchKey {
    /// Creates a key from external texts.
    ///
    /// A missing kind is inferred from the id.
    init(account: String?, source: String, kind: String?) throws(InvalidInput) {
        let id = try SourceID(source)
        let given = kind.map { SourceKind(rawValue: $0) }
        if case .some(nil) = given {
            throw InvalidInput("kind", "must be source or payment_intent")
        }
        self.init(
            account: try account.map { text throws(InvalidInput) in try AccountID(text) } ?? .main,
            source: id,
            kind: (given ?? SourceKind(inferredFrom: id)) ?? .source
        )
    }
}

/// The JSON messages to WebSocket clients.
///
/// Events are embedded as the recorded bytes.
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
/// `ref` is the client's number of the answered message. A `cursor` covers everything sent before it on this
/// connection. One event goes to thousands of connections. Its bytes are copied into each frame and never parsed.
enum ServerMessage {
    /// The size of a frame without its event, rounded up.
    ///
    /// The cursor is nearly all of it.
    private static let frameBytes = 320

    /// Returns the first message after the credentials were accepted.
    static func hello(_ limits: GatewayLimits) -> String {
        ServerFrame.Hello {
            $0.pingMs = Int(clamping: limits.pingInterval.ms)
            $0.limits.frameBytes = limits.frameBytesMax
            $0.limits.subscriptions = limits.subscriptionsMax
            $0.limits.sources = limits.sourcesMax
            $0.limits.types = limits.typesMax
            $0.limits.messagesPerSecond = limits.messagesPerSecond
        }.json
    }

    static func text(_ message: LiveMessage, _ subscription: Subscription) -> String {
        let sub = subscription.id
        switch message {
        case .subscribed(let cursor, let lost):
            return ServerFrame.Subscribed {
                $0.ref = subscription.ref
                $0.sub = sub
                $0.cursor = cursor
                $0.recovered = lost == nil
                $0.reason = lost
            }.json
        case .snapshot(let snapshot, let cursor):
            return ServerFrame.Snapshot {
                $0.sub = sub
                $0.cursor = cursor
                $0.state = state(of: snapshot, subscription.principal.view)
            }.json
        case .event(let event, let cursor):
            let json = event.json(for: subscription.principal.view)
            let frame = ServerFrame.EventRecorded {
                $0.sub = sub
                $0.cursor = cursor
                $0.event = RawJSON(unchecked: json)
            }
            // Written once per connection, into a buffer that need not grow.
            var writer = JSONWriter(capacity: json.utf8.count + frameBytes)
            frame.write(to: &writer)
            return writer.text
        case .caughtUp(let cursor):
            return ServerFrame.CaughtUp {
                $0.sub = sub
                $0.cursor = cursor
            }.json
        case .settled(let source, _):
            return ServerFrame.Settled {
                $0.sub = sub
                $0.source = source.description
            }.json
        case .unavailable:
            return error(
                ref: subscription.ref,
                code: "unavailable",
                message: "the store cannot be reached; subscribe again in a moment"
            )
        }
    }

    /// Returns the state of a source for a client with this view.
    static func state(of snapshot: WatchSnapshot, _ view: EventView) -> SourceState {
        let watch = snapshot.watch
        let object = snapshot.lastEvent?.object ?? "null"
        return SourceState {
            $0.account = view == .full ? watch.key.account.description : nil
            $0.source = watch.key.source.description
            $0.kind = Open(rawValue: watch.key.kind.rawValue)
            $0.state = Open(snapshot.closed == nil ? .open : .closed)
            $0.status = watch.state.status?.description
            $0.isFinal = snapshot.lastEvent?.final ?? false
            $0.seq = watch.seq
            $0.object = RawJSON(unchecked: view == .full ? object : PublicView.object(object))
        }
    }

    static func unsubscribed(sub: String) -> String {
        ServerFrame.Unsubscribed { $0.sub = sub }.json
    }

    static let pong = ServerFrame.Pong().json

    static func error(ref number: Int?, code: String, message: String) -> String {
        ServerFrame.Failure {
            $0.ref = number
            $0.code = code
            $0.message = message
        }.json
    }

    /// Returns the last message before the close frame.
    ///
    /// Everything before `cursor` has been sent on this connection. Without it the client must reconnect with the last
    /// cursor it has read.
    static func bye(_ code: CloseCode, reason: String, cursor: String?) -> String {
        ServerFrame.Bye {
            $0.code = code.rawValue
            $0.reason = reason
            $0.retryMs = code.retryMs.map { [$0.lowerBound, $0.upperBound] }
            $0.cursor = cursor
        }.json
    }
}

extension PollerWatches.Event {
    /// Returns the event for a client with this view.
    func json(for view: EventView) -> String {
        view == .full ? json : PublicView.json(of: self)
    }
}
