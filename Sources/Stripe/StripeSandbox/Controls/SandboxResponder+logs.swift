import Hummingbird

extension SandboxResponder {
    /// `?path=` is a whole path, or a beginning followed by `*`; `?since=` a number; `?limit=`.
    func listRequests(_ form: Form) throws(APIError) -> Response {
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

    func listHistory(_ form: Form) throws(APIError) -> Response {
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

    /// `since` and `limit` of a log; `most` is what it keeps.
    static func window(_ form: Form, most: Int) throws(APIError) -> (Int, Int) {
        let since = form["since"].map { Int($0) ?? -1 } ?? 0
        guard since >= 0 else { throw APIError.invalid("since is a number", param: "since") }
        return (since, min(try form.positive("limit") ?? most, most))
    }

    /// Elements after `since`, oldest first; `next` is what to give as `since` to go on.
    static func list<Element>(
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
