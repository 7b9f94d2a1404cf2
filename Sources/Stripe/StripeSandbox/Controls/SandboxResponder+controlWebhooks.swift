import HTTPTypes
import Hummingbird
import JSONText
import NIOCore
import SafeNumbers

extension SandboxResponder {
    /// Handles the controls of webhooks: loss, duplicates, order, and the log of attempts.
    func controlWebhooks(_ request: Request, _ segments: [String]) async throws -> Response? {
        let id = segments.dropFirst(2).first
        switch (request.method, segments.dropFirst().first, segments.count) {
        case (.post, "faults", 2):
            return try addWebhookFault(try await decode(WebhookFault.self, request))
        case (.delete, "faults", 2), (.delete, "faults", 3):
            return Self.deleted(store.step { $0.removeWebhookFaults(id) })
        case (.post, "destinations", 2):
            let input = try await decode(DestinationRequest.self, request)
            let created = store.step { $0.addDestination(input.url) }
            return Self.json(
                status: 201,
                JSONWriter.object { writer in
                    writer.field("id", created.id)
                    writer.field("secret", created.secret)
                }
            )
        case (.post, "resend", 2):
            let input = try await decode(ResendRequest.self, request)
            let count = store.step { $0.resend(input.event, to: input.endpoint) }
            guard let count else { throw APIError.noSuch("event", input.event) }
            return Self.json(JSONWriter.object { $0.field("deliveries", count) })
        case (.post, "roll", 2):
            let input = try await decode(RollRequest.self, request)
            let overlap = input.overlapSeconds ?? 86_400
            guard (0...86_400).contains(overlap) else {
                throw APIError.invalid(
                    "overlap_seconds must be 0 to 86400",
                    param: "overlap_seconds"
                )
            }
            let secret = store.step {
                $0.rollSecret(of: input.endpoint, overlapMs: overlap * 1000)
            }
            guard let secret else { throw APIError.noSuch("webhook endpoint", input.endpoint) }
            return Self.json(JSONWriter.object { $0.field("secret", secret) })
        case (.get, "attempts", 2):
            return try listAttempts(try Form(parsing: (request.uri.query ?? "").utf8))
        default: return nil
        }
    }

    /// Adds a webhook fault; the oldest fault that matches an event applies.
    private func addWebhookFault(_ input: WebhookFault) throws(APIError) -> Response {
        guard input.isValid else {
            throw APIError.invalid(
                "Invalid webhook fault: times must be at least 1, delay_ms and list_delay_ms 0 to 86400000."
            )
        }
        let id: String? = store.step { state in
            guard state.webhookFaults.count < SandboxState.webhookFaultsMax else { return nil }
            var fault = input
            fault.id = state.ids.make("fault_", length: 8)
            state.webhookFaults.append(fault)
            return fault.id
        }
        guard let id else {
            throw APIError.invalid("Too many webhook faults; delete some first.")
        }
        return Self.json(status: 201, JSONWriter.object { $0.field("id", id) })
    }

    private func listAttempts(_ form: Form) throws(APIError) -> Response {
        let event = form["event"]
        let (since, limit) = try Self.pageBounds(form, max: SandboxState.attemptsMax)
        return Self.json(
            store.read { state in
                Self.list(state.attempts, since: since, limit: limit) { attempt in
                    event == nil || attempt.event == event
                } render: { attempt, writer in
                    writer.field("event", attempt.event)
                    writer.field("type", attempt.type)
                    writer.field("endpoint", attempt.endpoint)
                    writer.field("attempt", attempt.attempt)
                    writer.field("status", attempt.status)
                    writer.field("at_ms", Int(clamping: attempt.atMs))
                }
            }
        )
    }
}

extension SandboxResponder {
    /// Lists requests: `?path=` is a path or a prefix followed by `*`; `?since=` is a number; `?limit=`.
    func listRequests(_ form: Form) throws(APIError) -> Response {
        let pattern = form["path"] ?? "*"
        let (since, limit) = try Self.pageBounds(form, max: SandboxState.requestsMax)
        return Self.json(
            store.read { state in
                Self.list(state.requests, since: since, limit: limit) { request in
                    pattern.hasSuffix("*")
                        ? request.path.hasPrefix(pattern.dropLast()) : request.path == pattern
                } render: { request, writer in
                    writer.field("method", request.method)
                    writer.field("path", request.path)
                    writer.field("at_ms", Int(clamping: request.atMs))
                    writer.field("key_suffix", request.keySuffix)
                    writer.field("request_id", request.requestID)
                    writer.field("status", request.status)
                }
            }
        )
    }

    /// Lists the emitted events, with the time in milliseconds and the object at that time.
    ///
    /// Stripe's list has a resolution of one second, which is too coarse to determine the state at a given moment.
    func listAnnounced(_ form: Form) throws(APIError) -> Response {
        let pattern = form["type"] ?? "*"
        // Objects have a few kilobytes.
        let (since, limit) = try Self.pageBounds(form, max: 2000)
        return Self.json(
            store.read { state in
                Self.list(state.events.ring, since: since, limit: limit) { event in
                    SandboxState.matches(event.type, pattern)
                } render: { event, writer in
                    writer.field("id", event.id)
                    writer.field("type", event.type)
                    writer.field("at_ms", Int(clamping: event.atMs))
                    writer.field("object", raw: event.object.readableBytesView)
                }
            }
        )
    }

    /// Lists every status change, for a checker that compares histories.
    func listHistory(_ form: Form) throws(APIError) -> Response {
        let source = form["source"]
        let (since, limit) = try Self.pageBounds(form, max: SandboxState.historyMax)
        return Self.json(
            store.read { state in
                Self.list(state.history, since: since, limit: limit) { change in
                    source == nil || change.source == source
                } render: { change, writer in
                    writer.field("source", change.source)
                    writer.field("previous", change.previous)
                    writer.field("status", change.status)
                    writer.field("at_ms", Int(clamping: change.atMs))
                }
            }
        )
    }

    /// Reads `since` and `limit` of a log with the given capacity.
    static func pageBounds(_ form: Form, max sizeMax: Int) throws(APIError) -> (Int, Int) {
        let since = form["since"].map { Int(decimal: $0) ?? -1 } ?? 0
        guard since >= 0 else { throw APIError.invalid("since must be a number", param: "since") }
        return (since, min(try form.positive("limit") ?? sizeMax, sizeMax))
    }

    /// Renders the elements after `since`, oldest first; pass `next` as `since` to continue.
    static func list<Element: Sendable>(
        _ ring: RingBuffer<Element>,
        since: Int,
        limit: Int,
        matching: (Element) -> Bool,
        render: (Element, inout JSONWriter) -> Void
    ) -> [UInt8] {
        JSONWriter.object { writer in
            // `since` may be any number; no element follows the newest.
            var seq = max(min(since, ring.next - 1) + 1, ring.first)
            var count = 0
            writer.array("data") { writer in
                while seq < ring.next, count < limit {
                    if let element = ring[seq], matching(element) {
                        count += 1
                        writer.object { writer in
                            writer.field("seq", seq)
                            render(element, &writer)
                        }
                    }
                    seq += 1
                }
            }
            writer.field("has_more", seq < ring.next)
            writer.field("next", seq - 1)
        }
    }
}
