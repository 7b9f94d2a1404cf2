import Hummingbird
import Poller

extension APIContext {
    /// The lane that the path names: `default/sources` as two segments, or as one with `%2F`.
    func lane() throws(Problem) -> LaneID {
        let segments = [parameters.get("lane"), parameters.get("endpoint")].compactMap(\.self)
        // A lane has no character that needs an escape but its slash.
        let text = segments.joined(separator: "/")
            .replacing("%2F", with: "/").replacing("%2f", with: "/")
        let lane = LaneID(unchecked: text)
        let endpoints = SourceKind.allCases.map(\.endpoint).joined(separator: " or ")
        guard let (account, kind) = lane.accountAndKind, SourceKind.allCases.contains(kind) else {
            throw Problem(
                .invalidParameter,
                "A lane is ACCOUNT/ENDPOINT with an endpoint of \(endpoints), for example "
                    + "default/sources; GET /v1/lanes lists those there are.",
                field: "lane"
            )
        }
        let known = try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
            try AccountID(account.description)
        }
        return LaneID(account: known, kind: kind)
    }
}
