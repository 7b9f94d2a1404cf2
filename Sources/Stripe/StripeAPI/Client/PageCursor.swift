/// Where a page of a list begins.
///
/// *Source*: <https://docs.stripe.com/api/pagination>.
public enum PageCursor: Hashable, Sendable {
    /// The objects older than this one, newest first.
    case startingAfter(String)
    /// The objects newer than this one; pages taken in turn run from old to new.
    case endingBefore(String)

    /// The query parameter.
    var parameter: (String, String) {
        switch self {
        case .startingAfter(let id): ("starting_after", id)
        case .endingBefore(let id): ("ending_before", id)
        }
    }
}
