import HTTPTypes
import JSONText
import NIOCore
import StripeAPI

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Thin events of API v2, which contain a reference to the object instead of the object.
///
/// *Source*: <https://docs.stripe.com/api/v2/core/events/object>, <https://docs.stripe.com/event-destinations>.
extension SandboxEvent {
    /// The prefix of thin event IDs in test mode.
    static let thinPrefix = "evt_test_65"

    /// The ID of the thin event, which differs from the ID of the event.
    var thinID: String { Self.thinPrefix + id.dropFirst("evt_".count) }

    /// Renders the thin event for a destination.
    func thinJSON() -> [UInt8] {
        // The JSON was rendered by the sandbox, so it is an object with an ID.
        let object = try? StripeJSON.value(self.object.readableBytesView)
        let related = (id: object?["id"]?.string ?? "", kind: object?["object"]?.string ?? "")
        let created = Date(timeIntervalSince1970: Double(created))
        return JSONWriter.object { writer in
            writer.field("id", thinID)
            writer.field("object", EventNotification.kind)
            writer.field("context", account)
            writer.field("created", created.formatted(.iso8601))
            writer.field("livemode", false)
            writer.nulls("reason")
            writer.object("related_object") { writer in
                writer.field("id", related.id)
                writer.field("type", related.kind)
                writer.field("url", "/v1/\(related.kind)s/\(related.id)")
            }
            writer.field("type", "v1.\(type)")
        }
    }
}

/// The body of `POST /_sandbox/webhooks/destinations`.
struct DestinationRequest: Decodable {
    let url: String
}

extension SandboxState {
    /// `GET /v2/core/events/{id}`.
    func routeThinEvents(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        guard call.method == .get, call.segments.count == 3, call.segment(0) == "core",
            call.segment(1) == "events"
        else { throw Self.unrecognized(call) }
        let id = call.segment(2)
        guard id.hasPrefix(SandboxEvent.thinPrefix) else { throw APIError.noSuch("event", id) }
        let event = try event("evt_" + id.dropFirst(SandboxEvent.thinPrefix.count), call)
        return APIReply(body: event.thinJSON())
    }

    /// Adds a destination that receives thin events of all types and accounts.
    mutating func addDestination(_ url: String) -> SandboxWebhook {
        let destination = SandboxWebhook(
            id: ids.make("ed_test_61"),
            account: nil,
            created: nowSeconds,
            url: url,
            secret: ids.make("whsec_", length: 32),
            events: ["*"],
            description: nil,
            reach: .everything,
            isThin: true
        )
        webhooks.append(destination)
        return destination
    }
}
