import Poller

extension DeliverySnapshot {
    /// The delivery on the wire; `lane` is how its endpoint stands.
    func json(lane: LaneReport? = nil) -> String {
        let (watch, progress) = (delivery.watch, delivery.state)
        var json = JSONObject()
        json.add("id", id.description)
        json.add("endpoint", delivery.endpoint.description)
        json.add("url", orNull: delivery.url?.description)
        json.add("account", watch.account.description)
        json.add("source", watch.source.description)
        json.add("kind", watch.kind.rawValue)
        json.add("state", state.rawValue)
        json.add("last_seq", progress.cursor)
        json.add("failures", progress.failures)
        json.add("attempts", progress.attempts)
        json.add("dead_seqs", raw: Self.array(progress.dead))
        json.add("retrying_seqs", raw: Self.array(progress.again))
        json.add("failing_since", orNull: progress.failedSince?.description)
        json.add("next_attempt_at", orNull: nextAttempt(lane)?.description)
        json.add("last_error", orNull: lastError)
        if let lane { json.add("endpoint_health", raw: lane.healthJSON) }
        return json.text
    }

    /// When it is due, and its endpoint not held; nil while it rests or is in hand.
    private func nextAttempt(_ lane: LaneReport?) -> Timestamp? {
        guard case .waiting(let due) = place, lane?.isPaused != true else { return nil }
        return max(due, lane?.heldUntil ?? due)
    }

    private static func array(_ seqs: [Int]) -> String {
        JSONObject.array(seqs.map(String.init))
    }
}

extension LaneReport {
    /// How an endpoint takes what it is sent, on the wire.
    var healthJSON: String {
        var json = JSONObject()
        json.add("circuit", circuit.rawValue)
        json.add("held_until", orNull: heldUntil.flatMap { $0 > now ? $0.description : nil })
        json.add("failures", failures)
        json.add("failing_since", orNull: failingSince?.description)
        let patience = EndpointVerdict.patience
        json.add("disabled_at_the_latest", orNull: failingSince.map { "\($0 + patience)" })
        json.add("paused", isPaused)
        json.add("waiting", waiting)
        json.add("in_flight", inFlight)
        return json.text
    }
}

extension AttemptRecord {
    /// The attempt on the wire.
    var json: String {
        var json = JSONObject()
        json.add("at", at.description)
        json.add("event", event.description)
        json.add("seq", seq)
        json.add("number", number)
        json.add("outcome", outcome.rawValue)
        json.add("class", kind.rawValue)
        json.add("code", raw: code.map(String.init) ?? "null")
        json.add("address", orNull: address)
        var spans = JSONObject()
        spans.add("resolve", raw: Self.number(phases.resolveMs))
        spans.add("connect", raw: Self.number(phases.connectMs))
        spans.add("first_byte", raw: Self.number(phases.firstByteMs))
        spans.add("total", raw: Self.number(phases.totalMs))
        json.add("ms", raw: spans.text)
        json.add("reason", orNull: reason.isEmpty ? nil : reason)
        json.add("excerpt", orNull: excerpt.isEmpty ? nil : excerpt)
        return json.text
    }

    private static func number(_ value: Int?) -> String { value.map(String.init) ?? "null" }
}
