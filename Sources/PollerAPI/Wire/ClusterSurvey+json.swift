import Poller

extension ClusterStatus {
    /// How many lanes are in which state, on the wire.
    var laneCounts: String {
        var json = JSONObject()
        json.add("total", lanes.count)
        for state in LaneState.allCases { json.add(state.rawValue, count(state)) }
        json.add("complete", more == nil)
        return json.text
    }
}
