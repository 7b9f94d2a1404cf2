import Foundation
import Poller

/// What the customer of a source may know of an event: how the payment stands, not whose account
/// it is in nor what the merchant has written into the object.
///
/// *Shape*: `{id, type, source, kind, seq, run, previous_status, status, final, closed_reason,
/// object: {id, object, type, status, flow, amount, currency, livemode, created}, observed}`; of the
/// object the members that are there and are no objects themselves.
enum PublicView {
    private static let shown = [
        "id", "object", "type", "status", "flow", "amount", "currency", "livemode", "created",
    ]

    /// The event, restricted.
    static func json(of event: Event) -> String {
        let status = { (status: SourceStatus?) in
            status.map { RawJSON.literal($0.description) } ?? "null"
        }
        return """
            {"id":"\(event.id)","type":\(RawJSON.literal(event.type)),"source":"\(event.key.source)",\
            "kind":"\(event.key.kind.rawValue)","seq":\(event.seq),"run":\(event.run),\
            "previous_status":\(status(event.previousStatus)),"status":\(status(event.status)),\
            "final":\(event.final),\
            "closed_reason":\(event.closed.map { "\"\($0.rawValue)\"" } ?? "null"),\
            "object":\(object(event.object)),"observed":{"polled_at":"\(event.polledAt)"}}
            """
    }

    /// An upstream's object, restricted; `null` when it is none.
    static func object(_ text: String) -> String {
        // Text that is no object shows nothing.
        guard let any = try? JSONSerialization.jsonObject(with: Data(text.utf8)),
            let object = any as? [String: Any]
        else { return "null" }
        let kept = object.filter { name, value in
            shown.contains(name) && (value is String || value is NSNumber)
        }
        // Strings and numbers that were read as JSON can be written as JSON.
        guard
            let data = try? JSONSerialization.data(
                withJSONObject: kept,
                options: [.sortedKeys, .withoutEscapingSlashes]
            )
        else { return "null" }
        return String(decoding: data, as: UTF8.self)
    }
}

extension Event {
    /// The object inside the event's bytes.
    ///
    /// What stands before it are ids and statuses, which hold no quotes, and `observed` is the
    /// last member: the first and the last match are the right ones whatever the object says.
    var object: String {
        guard let start = json.firstRange(of: ",\"object\":"),
            let end = json.ranges(of: ",\"observed\":").last,
            start.upperBound <= end.lowerBound
        else { return "null" }
        return String(json[start.upperBound..<end.lowerBound])
    }
}
