import HTTPTypes
import Hummingbird
import JSONText
import NIOCore
import SafeNumbers

extension SandboxResponder {
    /// Loss, repetition and order of webhooks, and what became of each try.
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
                throw APIError.invalid("overlap_seconds is 0 to 86400", param: "overlap_seconds")
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

    /// Puts a webhook fault in force; the oldest that applies to an event strikes.
    private func addWebhookFault(_ input: WebhookFault) throws(APIError) -> Response {
        guard input.isValid else {
            throw APIError.invalid(
                "A webhook fault has times from 1, delay_ms and list_delay_ms up to 86400000."
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
            throw APIError.invalid("There are too many webhook faults; delete some first.")
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
    /// `?path=` is a whole path, or a beginning followed by `*`; `?since=` a number; `?limit=`.
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

    /// What was announced, with the millisecond it happened and the object of that moment.
    ///
    /// Stripe's own list knows seconds alone, and nobody can say what was true between two of them.
    func listAnnounced(_ form: Form) throws(APIError) -> Response {
        let pattern = form["type"] ?? "*"
        // Objects are a few kilobytes.
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

    /// Every status that ever held, which is what a checker of histories compares with.
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

    /// `since` and `limit` of a log; `most` is what it keeps.
    static func pageBounds(_ form: Form, max sizeMax: Int) throws(APIError) -> (Int, Int) {
        let since = form["since"].map { Int(decimal: $0) ?? -1 } ?? 0
        guard since >= 0 else { throw APIError.invalid("since is a number", param: "since") }
        return (since, min(try form.positive("limit") ?? sizeMax, sizeMax))
    }

    /// Elements after `since`, oldest first; `next` is what to give as `since` to go on.
    static func list<Element: Sendable>(
        _ ring: RingBuffer<Element>,
        since: Int,
        limit: Int,
        matching: (Element) -> Bool,
        render: (Element, inout JSONWriter) -> Void
    ) -> [UInt8] {
        JSONWriter.object { writer in
            // `since` may be any number; nothing comes after the newest.
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
