import JSONText
import Poller

extension Member {
    /// The process on the wire.
    var json: String {
        var json = JSONObject()
        json.add("id", owner.description)
        json.add("roles", raw: JSONObject.array(roleNames.map { JSONWriter.literal($0) }))
        json.add("host", host)
        json.add("pid", pid)
        json.add("version", version)
        json.add("started_at", startedAt.description)
        json.add("in_flight", inFlight)
        return json.text
    }
}
