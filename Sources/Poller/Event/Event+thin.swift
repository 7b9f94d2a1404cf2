import JSONText

extension Event {
    /// The event without its object, for receivers that ask for the rest themselves.
    ///
    /// *Shape*:
    /// ```
    /// {"id":"evt_…","type":"source.chargeable","account":"default","source":"src_…","seq":2,
    ///  "status":"chargeable","final":false}
    /// ```
    package var thinJSON: String {
        let shown = status.map { JSONWriter.literal($0.description) } ?? "null"
        return """
            {"id":"\(id)","type":\(JSONWriter.literal(type)),"account":"\(key.account)",\
            "source":"\(key.source)","seq":\(seq),"status":\(shown),"final":\(final)}
            """
    }

    /// The test event of an endpoint; it is about no source.
    package static func test(of endpoint: Endpoint, at now: Timestamp) -> Event? {
        let id = "evt_test_" + Digest.base64url(of: [endpoint.id.description, "\(now)"], bytes: 12)
        return Event(
            json: """
                {"id":"\(id)","type":"endpoint.test","account":"\(endpoint.account)",\
                "source":"src_test","kind":"source","seq":0,"run":0,"previous_status":null,\
                "status":null,"final":false,"closed_reason":null,"object":null,\
                "observed":{"polled_at":"\(now)","lag_ms":0}}
                """
        )
    }
}
