import Hummingbird
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerWatches
import PollerWire
import SafeNumbers

/// The text of an email or the body of a webhook, for people.
extension DeliveryRoutes {
    private static let message = Route(
        .get,
        "/v1/deliveries/{delivery}/messages/{seq}",
        "deliveryMessage",
        "Read the message of an event: the email's text or the webhook's body",
        """
        Composed again from the event in the same way as by the notifiers; as_sent compares it with the sent \
        message. 404 once the event is no longer kept; 409 if this server has no channel for the URL, such as \
        email without POLLER_SMTP_URL.
        """,
        access: .key(.readDeliveries),
        input: .all(.delivery, .seq) { (id: $0, seq: $1) },
        answers: [.ok("The message.", "DeliveryMessage")],
        problems: [404, 409]
    )

    /// The routes of this file.
    var messages: [AnsweredRoute] { [Self.message.answered(by: message)] }

    private func message(
        _ wanted: (id: DeliveryID, seq: Int),
        _ context: APIContext
    ) async throws -> Response {
        let delivery = try await snapshot(wanted.id, context.caller).delivery
        guard let target = try await target(of: delivery),
            let event = try await backend.watches.events(
                of: delivery.watch,
                after: wanted.seq - 1,
                limit: 1
            ).first, event.seq == wanted.seq
        else { throw Self.missing(wanted) }
        guard let composed = await backend.endpoints.probe.message(of: event, to: target) else {
            throw Problem(
                .channelMissing,
                "This server does not deliver to \(target.url.scheme): URLs; for mail "
                    + "set POLLER_SMTP_URL and POLLER_MAIL_FROM."
            )
        }
        guard let message = composed else { throw Self.missing(wanted) }
        let attempts = try await backend.deliveries.attempts(of: wanted.id)
            .filter { $0.seq == wanted.seq }
        let sent = attempts.last { $0.outcome == .delivered }
        var answer = DeliveryMessage()
        answer.delivery = wanted.id.description
        answer.seq = event.seq
        answer.event = event.id.description
        answer.recipient = message.recipient
        answer.type = message.type
        answer.subject = message.subject
        answer.text = message.text
        answer.sentAt = sent.map { Time($0.at) }
        answer.isAsSent = (sent ?? attempts.last)?.digest.map { $0 == message.digest }
        return Response(answer)
    }

    /// Returns the target of a delivery, with the watch that an email needs; `nil` if its endpoint was removed.
    private func target(of delivery: PollerDeliveries.Delivery) async throws -> DeliveryTarget? {
        var target = delivery.url.map { DeliveryTarget($0) }
        if target == nil {
            target = try await backend.endpoints.store.read(delivery.endpoint)
                .map { DeliveryTarget($0.endpoint) }
        }
        target?.snapshot = try await backend.watches.snapshot(of: delivery.watch)
        return target
    }

    private static func missing(_ wanted: (id: DeliveryID, seq: Int)) -> Problem {
        Problem(
            .notFound,
            "Event \(wanted.seq) of \(wanted.id) is no longer kept, its endpoint was "
                + "removed, or the recipient does not receive it; the delivery's attempts "
                + "list the events that were sent."
        )
    }
}

extension RouteInput where Value == Int {
    /// The event in the path.
    fileprivate static var seq: Self {
        let named = RouteInput<String>.segment(
            "seq",
            "The event's seq.",
            .integer(1...1_000_000_000, standard: nil)
        )
        return Self(named.parameters) { values throws(Problem) in
            let text = try named.read(values)
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let seq = Int(decimal: text), (1...1_000_000_000).contains(seq)
            else {
                throw Problem.parameter(
                    "seq",
                    "must be a whole number from 1; the delivery's attempts show it."
                )
            }
            return seq
        }
    }
}
