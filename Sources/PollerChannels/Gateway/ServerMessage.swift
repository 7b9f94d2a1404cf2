import Poller

/// Messages to clients, as JSON texts; events are embedded as the bytes that were recorded.
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

    /// A subscription begins; `lost` says why the client's cursor could not be resumed.
    static func subscribed(_ subscription: Subscription, cursor: String, lost: String?) -> String {
        let reason = lost.map { ",\"reason\":\(RawJSON.literal($0))" } ?? ""
        return """
            {"op":"subscribed"\(ref(subscription.ref)),"sub":"\(subscription.id)",\
            "cursor":"\(cursor)","recovered":\(lost == nil)\(reason)}
            """
    }

    /// The state of a source; `object` is the upstream's, or null.
    static func snapshot(_ snapshot: WatchSnapshot, sub: String, cursor: String) -> String {
        let watch = snapshot.watch
        let status = watch.state.status.map { "\"\($0)\"" } ?? "null"
        return """
            {"op":"snapshot","sub":"\(sub)","cursor":"\(cursor)","account":"\(watch.key.account)",\
            "source":"\(watch.key.source)","kind":"\(watch.key.kind.rawValue)",\
            "state":"\(snapshot.closed == nil ? "open" : "closed")","status":\(status),\
            "final":\(snapshot.lastEvent?.final ?? false),"seq":\(watch.seq),\
            "object":\(snapshot.lastEvent.map(object) ?? "null")}
            """
    }

    static func event(_ event: Event, sub: String, cursor: String) -> String {
        "{\"op\":\"event\",\"sub\":\"\(sub)\",\"cursor\":\"\(cursor)\",\"event\":\(event.json)}"
    }

    /// The client has everything that was recorded before it subscribed.
    static func caughtUp(sub: String, cursor: String) -> String {
        "{\"op\":\"caught_up\",\"sub\":\"\(sub)\",\"cursor\":\"\(cursor)\"}"
    }

    /// No further event of this run of the source will follow.
    static func settled(_ key: WatchKey, sub: String) -> String {
        "{\"op\":\"settled\",\"sub\":\"\(sub)\",\"source\":\"\(key.source)\"}"
    }

    static func unsubscribed(sub: String) -> String {
        "{\"op\":\"unsubscribed\",\"sub\":\"\(sub)\"}"
    }

    static let pong = "{\"op\":\"pong\"}"

    static func error(ref number: Int?, code: String, message: String) -> String {
        """
        {"op":"error"\(ref(number)),"code":"\(code)","message":\(RawJSON.literal(message))}
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
            {"op":"bye","code":\(code.rawValue),"reason":\(RawJSON.literal(reason))\
            \(retry)\(cursor)}
            """
    }

    private static func ref(_ number: Int?) -> String {
        number.map { ",\"ref\":\($0)" } ?? ""
    }

    /// The object inside an event's bytes.
    ///
    /// What stands before it are ids and statuses, which hold
    /// no quotes, and `observed` is the last member: the first and the last match are the right
    /// ones whatever the object says.
    private static func object(of event: Event) -> String {
        guard let start = event.json.firstRange(of: ",\"object\":"),
            let end = event.json.ranges(of: ",\"observed\":").last,
            start.upperBound <= end.lowerBound
        else { return "null" }
        return String(event.json[start.upperBound..<end.lowerBound])
    }
}
