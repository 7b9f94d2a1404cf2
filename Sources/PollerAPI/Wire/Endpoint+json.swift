import JSONText
import Poller

extension Endpoint {
    /// The endpoint on the wire.
    ///
    /// `secret`: the newest one, only in the answers to its creation and rotation; `health`: how
    /// its lane stands, only when it is read alone and has something to tell. Values of
    /// headers are never told: they are the receiver's secrets as much as ours are.
    func json(secret: WebhookSecret? = nil, health: LaneReport? = nil) -> String {
        var json = JSONObject()
        json.add("id", id.description)
        json.add("account", account.description)
        json.add("name", orNull: name)
        json.add("url", url.description)
        if let secret { json.add("secret", secret.reveal) }
        switch state {
        case .enabled: json.add("state", "enabled")
        case .disabled(let reason, let at):
            json.add("state", "disabled")
            json.add("disabled_reason", reason)
            json.add("disabled_at", at.description)
        }
        json.add("types", raw: Self.texts(scope.types))
        json.add("sources", raw: Self.texts(scope.sources.map(\.description).sorted()))
        json.add("metadata", raw: Self.object(scope.metadata))
        json.add("final_only", scope.finalOnly)
        json.add("ordering", "source")
        json.add("coalesce", coalesces)
        if case .own(let schedule) = retry {
            json.add("retry", raw: Self.texts(schedule.waits.map(\.text)))
        } else {
            json.add("retry", orNull: retry.name)
        }
        json.add("timeout", orNull: timeout?.text)
        json.add("limit", raw: limit?.json(isDefault: false) ?? "null")
        json.add("headers", raw: Self.object(Dictionary(hidden) { first, _ in first }))
        json.add("payload", payload.rawValue)
        if let notifyBy {
            var fallback = JSONObject()
            fallback.add("within", notifyBy.within.text)
            fallback.add("endpoint", notifyBy.fallback.description)
            json.add("notify_by", raw: fallback.text)
        } else {
            json.add("notify_by", orNull: nil)
        }
        let ends = secrets.map { secret in
            var json = JSONObject()
            json.add("expires_at", orNull: secret.endsAt?.description)
            return json.text
        }
        json.add("secrets", raw: JSONObject.array(ends))
        json.add("created_at", createdAt.description)
        json.add("updated_at", updatedAt.description)
        if let health { json.add("health", raw: health.healthJSON) }
        return json.text
    }

    private var hidden: [(String, String)] { headers.map { ($0.name, "(redacted)") } }

    private static func texts(_ texts: [String]) -> String {
        JSONObject.array(texts.map { JSONWriter.literal($0) })
    }

    private static func object(_ members: [String: String]) -> String {
        var json = JSONObject()
        for (name, value) in members.sorted(by: { $0.key < $1.key }) { json.add(name, value) }
        return json.text
    }
}

extension AttemptResult {
    /// The answer to a test on the wire.
    var json: String {
        var json = JSONObject()
        json.add("delivered", outcome == .delivered)
        json.add("class", kind.rawValue)
        json.add("code", raw: code.map(String.init) ?? "null")
        json.add("address", orNull: address)
        json.add("duration_ms", raw: phases.totalMs.map(String.init) ?? "null")
        json.add("reason", orNull: reason.isEmpty ? nil : reason)
        json.add("excerpt", orNull: excerpt.isEmpty ? nil : excerpt)
        return json.text
    }
}
