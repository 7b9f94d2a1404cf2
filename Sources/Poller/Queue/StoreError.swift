/// What can go wrong between us and the store, as far as a caller must decide on it.
package enum StoreError: Error, Hashable, Sendable {
    /// Nobody could be reached or nobody answered in time. Whether the operation took effect is
    /// unknown; every operation of the seams may be repeated.
    case unavailable(String)
    /// The store is out of memory and refuses new work; finishing work goes on. Tell the client
    /// to come back (503, `Retry-After`).
    case full
    /// The cursor of a list is none of this store's: the client should start again without one.
    case unknownCursor
    /// An event of a commit does not follow the last one of its watch; nothing of the batch is
    /// recorded. Whoever made the event reads the watch again and repeats.
    case outOfOrder(String)
    /// The store answered what this version does not understand; a person must look.
    case corrupt(String)
}

extension StoreError: CustomStringConvertible {
    /// What went wrong, for logs and people.
    package var description: String {
        switch self {
        case .unavailable(let reason): reason
        case .full: "the store is out of memory"
        case .unknownCursor: "the cursor is none of this store's"
        case .outOfOrder(let detail): "an event does not follow the last one: \(detail)"
        case .corrupt(let detail): "the store answered what is not understood: \(detail)"
        }
    }
}
