import Poller

extension LaneReport {
    /// The lane on the wire; `standard` is what holds when it has no limit of its own.
    func json(standard: LaneLimit) -> String {
        var json = JSONObject()
        json.add("id", lane.description)
        json.add("state", state.rawValue)
        json.add("waiting", waiting)
        json.add("overdue", overdue)
        json.add("oldest_due_at", orNull: oldestDue?.description)
        json.add("overdue_ms", Int(overdueFor.ms))
        json.add("in_flight", inFlight)
        json.add("limit", raw: (limit ?? standard).json(isDefault: limit == nil))
        json.add("paused", isPaused)
        json.add("held_until", orNull: heldUntil.flatMap { $0 > now ? $0.description : nil })
        json.add("factor", factor)
        json.add("failures", failures)
        json.add("circuit", circuit.rawValue)
        json.add("partition", partition)
        return json.text
    }
}

extension LaneLimit {
    /// The limit on the wire.
    func json(isDefault: Bool) -> String {
        var json = JSONObject()
        json.add("rate", ratePerSecond)
        json.add("burst", burst)
        json.add("concurrency", inFlightMax)
        json.add("default", isDefault)
        return json.text
    }
}
