package import Crypto
package import PollerIdentity
import Synchronization

/// The current and the former secret from which the tokens and cursors of a cluster are derived.
package struct Roots: Hashable, Sendable {
    /// The time between the announcement of a new root and its first use, in which every process reads it, so that all
    /// accept what one creates.
    package static let notice = Duration.seconds(30)

    /// The root that creates tokens and cursors, from ``since`` on.
    package let newest: [UInt8]
    /// The time of the first use; `nil` for a root that was never rotated.
    package let since: Timestamp?
    /// The root that was used before.
    package let former: [UInt8]?

    /// Creates a root that was never rotated.
    package init(_ root: [UInt8]) {
        (newest, since, former) = (root, nil, nil)
    }

    /// Creates a root that replaces another at an instant.
    package init(_ newest: [UInt8], since: Timestamp, instead former: [UInt8]) {
        (self.newest, self.since, self.former) = (newest, since, former)
    }

    /// Returns the root that creates tokens and cursors.
    package func current(at now: Timestamp) -> [UInt8] {
        guard let since, let former, now < since else { return newest }
        return former
    }

    /// Returns the roots of values that are valid for `span`, the most likely first.
    package func accepted(at now: Timestamp, for span: Duration) -> [[UInt8]] {
        guard let since, let former, now < since + span else { return [newest] }
        return now < since ? [former, newest] : [newest, former]
    }
}

/// The roots that a process knows, shared by all its users.
///
/// A class, because a rotation must reach all of them at once.
package final class RootRing: Sendable {
    private let roots: Mutex<Roots>
    private let wallClock: @Sendable () -> Timestamp

    /// Creates the roots of a cluster; `wallClock` determines when a new one is used.
    package init(_ roots: Roots, wallClock: @escaping @Sendable () -> Timestamp) {
        self.roots = Mutex(roots)
        self.wallClock = wallClock
    }

    /// Creates a single root that is never rotated, of at least 16 random bytes.
    package convenience init(fixed root: [UInt8]) {
        precondition(root.count >= 16, "shorter secrets can be guessed")
        self.init(Roots(root), wallClock: { Timestamp(ms: 0) })
    }

    /// Replaces the roots by those of the store.
    package func replace(with new: Roots) {
        roots.withLock { $0 = new }
    }

    /// The root that creates tokens and cursors now.
    package var current: [UInt8] {
        let now = wallClock()
        return roots.withLock { $0.current(at: now) }
    }

    /// Returns the roots of values that are valid for `span`, the most likely first.
    package func accepted(for span: Duration) -> [[UInt8]] {
        let now = wallClock()
        return roots.withLock { $0.accepted(at: now, for: span) }
    }
}

/// The keys of one purpose, derived from the roots, so that a root may also serve other purposes.
///
/// A class, because it caches the derived keys: every event for a live client needs one.
package final class RootKeys: Sendable {
    private let roots: RootRing
    private let purpose: [UInt8]
    /// The validity of what a key creates.
    private let span: Duration
    private let known = Mutex<[[UInt8]: SymmetricKey]>([:])

    /// Creates the keys of a purpose, for values that are valid for at most `span`.
    package init(_ purpose: String, from roots: RootRing, span: Duration) {
        self.purpose = Array(purpose.utf8)
        self.roots = roots
        self.span = span
    }

    /// The key that creates values now.
    package var current: SymmetricKey { key(of: roots.current) }

    /// The keys of valid values, the most likely first.
    package var accepted: [SymmetricKey] { roots.accepted(for: span).map(key) }

    private func key(of root: [UInt8]) -> SymmetricKey {
        known.withLock { known in
            if let key = known[root] { return key }
            let key = SymmetricKey(
                data: HMAC<SHA256>.authenticationCode(
                    for: purpose,
                    using: SymmetricKey(data: root)
                )
            )
            // Two, and some that were rotated while this process runs.
            if known.count >= 8 { known = [:] }
            known[root] = key
            return key
        }
    }
}
