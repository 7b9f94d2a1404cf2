import HTTPTypes
import Hummingbird
import NIOCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension SandboxResponder {
    /// As many sources as one call makes: about 1 kB each.
    static let bulkMax = 1_000_000

    /// The controls under `/_sandbox`; JSON in, JSON out, no key.
    func respondControl(_ request: Request, _ path: String) async throws -> Response {
        let segments = path.split(separator: "/").dropFirst().map(String.init)
        do {
            switch (request.method, segments.first, segments.count) {
            case (.post, "sources", 3) where segments[2] == "status":
                let wanted = try await decode(StatusRequest.self, request)
                return try setSource(segments[1], wanted)
            case (.post, "payment_intents", 3) where segments[2] == "status":
                let wanted = try await decode(StatusRequest.self, request)
                return try setIntent(segments[1], wanted)
            case (.post, "faults", 1):
                return try addFault(try await decode(FaultRequest.self, request))
            case (.delete, "faults", 1), (.delete, "faults", 2):
                let id = segments.count > 1 ? segments[1] : nil
                let removed = store.step { $0.removeFaults(id) }
                return Self.json(JSONWriter.object { $0.field("deleted", removed) })
            case (.post, "bulk", 1):
                return try makeBulk(try await decode(BulkRequest.self, request), request)
            case (.get, "requests", 1):
                return try listRequests(try Form(parsing: (request.uri.query ?? "").utf8))
            case (.get, "history", 1):
                return try listHistory(try Form(parsing: (request.uri.query ?? "").utf8))
            default:
                throw APIError.invalid(
                    "No such control: \(request.method.rawValue) \(path)",
                    status: 404
                )
            }
        } catch let error as APIError {
            return Self.response(error.reply, headers: HTTPFields())
        }
    }

    private func decode<Value: Decodable>(
        _ type: Value.Type,
        _ request: Request
    ) async throws -> Value {
        let body = try await collect(request)
        do {
            return try JSONDecoder().decode(type, from: Data(body.readableBytesView))
        } catch {
            throw APIError.invalid("The body does not fit: \(error)")
        }
    }

    private func setSource(_ id: String, _ wanted: StatusRequest) throws(APIError) -> Response {
        guard StatusRequest.sourceStatuses.contains(wanted.status) else {
            throw APIError.invalid("A source cannot be \(wanted.status).", param: "status")
        }
        let body: ByteBuffer? = store.step { state in
            guard state.sources[id] != nil else { return nil }
            state.settleSource(id, to: wanted.status, failureReason: wanted.failureReason)
            return state.sourceJSON(id)
        }
        guard let body else { throw APIError.noSuch("source", id) }
        return Self.response(APIReply(body: body), headers: HTTPFields())
    }

    private func setIntent(_ id: String, _ wanted: StatusRequest) throws(APIError) -> Response {
        guard StatusRequest.intentStatuses.contains(wanted.status) else {
            throw APIError.invalid("An intent cannot be \(wanted.status).", param: "status")
        }
        let body: ByteBuffer? = store.step { state in
            guard state.intents[id] != nil else { return nil }
            state.settleIntent(id, to: wanted.status)
            return state.intentJSON(id)
        }
        guard let body else { throw APIError.noSuch("payment_intent", id) }
        return Self.response(APIReply(body: body), headers: HTTPFields())
    }

    private func addFault(_ plan: FaultRequest) throws(APIError) -> Response {
        guard (200...599).contains(plan.status ?? 200), (plan.times ?? 1) > 0,
            (0...300_000).contains(plan.delayMs ?? 0), (0...(1 << 40)).contains(plan.bytes ?? 0)
        else {
            throw APIError.invalid(
                "A fault has status 200 to 599, times from 1, delay_ms up to 300000, bytes up to 2^40."
            )
        }
        let id: String? = store.step { state in
            state.faults.count < SandboxState.faultsMax ? state.addFault(plan) : nil
        }
        guard let id else {
            throw APIError.invalid("There are \(SandboxState.faultsMax) faults; delete some first.")
        }
        return Self.json(status: 201, JSONWriter.object { $0.field("id", id) })
    }

    private func makeBulk(_ wanted: BulkRequest, _ request: Request) throws(APIError) -> Response {
        let type = wanted.type ?? "ideal"
        guard let kind = SourceKind.all[type] else {
            throw APIError.invalid("Invalid type: \(type)", param: "type")
        }
        guard (1...Self.bulkMax).contains(wanted.count) else {
            throw APIError.invalid("count is 1 to \(Self.bulkMax)", param: "count")
        }
        let base = base(of: request)
        let made = store.step {
            $0.bulkSources(
                count: wanted.count,
                type: type,
                kind: kind,
                amount: wanted.amount ?? 1099,
                base: base
            )
        }
        return Self.json(status: 201, JSONWriter.object { $0.field("ids", made) })
    }

    /// `?path=` is a whole path, or a beginning followed by `*`; `?since=` a number; `?limit=`.
    private func listRequests(_ form: Form) throws(APIError) -> Response {
        let pattern = form["path"] ?? "*"
        let (since, limit) = try Self.window(form, most: SandboxState.requestsMax)
        return Self.json(
            store.step { state in
                Self.list(state.requests, since: since, limit: limit) { request in
                    pattern.hasSuffix("*")
                        ? request.path.hasPrefix(pattern.dropLast()) : request.path == pattern
                } render: { request, writer in
                    writer.field("method", request.method)
                    writer.field("path", request.path)
                    writer.field("at_ms", Int(request.atMs))
                    writer.field("key_suffix", request.keySuffix)
                    writer.field("request_id", request.requestID)
                    writer.field("status", request.status)
                }
            }
        )
    }

    private func listHistory(_ form: Form) throws(APIError) -> Response {
        let source = form["source"]
        let (since, limit) = try Self.window(form, most: SandboxState.historyMax)
        return Self.json(
            store.step { state in
                Self.list(state.history, since: since, limit: limit) { change in
                    source == nil || change.source == source
                } render: { change, writer in
                    writer.field("source", change.source)
                    writer.field("previous", change.previous)
                    writer.field("status", change.status)
                    writer.field("at_ms", Int(change.atMs))
                }
            }
        )
    }

    private static func window(_ form: Form, most: Int) throws(APIError) -> (Int, Int) {
        let since = form["since"].map { Int($0) ?? -1 } ?? 0
        guard since >= 0 else { throw APIError.invalid("since is a number", param: "since") }
        return (since, min(try form.positive("limit") ?? most, most))
    }

    /// Elements after `since`, oldest first; `next` is what to give as `since` to go on.
    private static func list<Element>(
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
            writer.key("data")
            writer.array { writer in
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
