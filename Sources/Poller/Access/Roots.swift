package import Crypto
package import PollerIdentity
import Synchronization

/// What the tokens and cursors of a cluster are made from, and what they were made from before.
package struct Roots: Hashable, Sendable {
    /// How long before it makes anything a new root is announced: every process has read it by then, and what
    /// one makes all accept.
    package static let notice = Duration.seconds(30)

    /// The root that makes tokens and cursors, from ``since`` on.
    package let newest: [UInt8]
    /// Nil for a root that was never rotated.
    package let since: Timestamp?
    /// What made them until then.
    package let former: [UInt8]?

    /// A root that was never rotated.
    package init(_ root: [UInt8]) {
        (newest, since, former) = (root, nil, nil)
    }

    /// A root that takes the place of another at an instant.
    package init(_ newest: [UInt8], since: Timestamp, instead former: [UInt8]) {
        (self.newest, self.since, self.former) = (newest, since, former)
    }

    /// The root that makes tokens and cursors.
    package func making(at now: Timestamp) -> [UInt8] {
        guard let since, let former, now < since else { return newest }
        return former
    }

    /// The roots of what counts for `span` after it was made, the likeliest first.
    package func accepted(at now: Timestamp, for span: Duration) -> [[UInt8]] {
        guard let since, let former, now < since + span else { return [newest] }
        return now < since ? [former, newest] : [newest, former]
    }
}

/// The roots as a process knows them; shared by all that makes and checks tokens and cursors.
///
/// A class, because a rotation must reach all of them at once.
package final class RootRing: Sendable {
    private let roots: Mutex<Roots>
    private let wallClock: @Sendable () -> Timestamp

    /// The roots of a cluster; `wallClock` tells when a new one begins.
    package init(_ roots: Roots, wallClock: @escaping @Sendable () -> Timestamp) {
        self.roots = Mutex(roots)
        self.wallClock = wallClock
    }

    /// One root that is never rotated, of at least 16 random bytes.
    package convenience init(fixed root: [UInt8]) {
        precondition(root.count >= 16, "fewer bytes can be guessed")
        self.init(Roots(root), wallClock: { Timestamp(ms: 0) })
    }

    /// Takes over what the store says now.
    package func replace(with new: Roots) {
        roots.withLock { $0 = new }
    }

    /// The root that makes tokens and cursors now.
    package var making: [UInt8] {
        let now = wallClock()
        return roots.withLock { $0.making(at: now) }
    }

    /// The roots of what counts for `span` after it was made, the likeliest first.
    package func accepted(for span: Duration) -> [[UInt8]] {
        let now = wallClock()
        return roots.withLock { $0.accepted(at: now, for: span) }
    }
}

/// The keys of one purpose that are made from the roots, so that a root may serve others too.
///
/// A class, because it keeps what it has made: every event told to a live client needs one.
package final class RootKeys: Sendable {
    private let roots: RootRing
    private let purpose: [UInt8]
    /// How long what is made with a key counts.
    private let span: Duration
    private let known = Mutex<[[UInt8]: SymmetricKey]>([:])

    /// The keys of a purpose, for what counts no longer than `span` after it was made.
    package init(_ purpose: String, from roots: RootRing, span: Duration) {
        self.purpose = Array(purpose.utf8)
        self.roots = roots
        self.span = span
    }

    /// The key that makes something now.
    package var making: SymmetricKey { key(of: roots.making) }

    /// The keys of what counts now, the likeliest first.
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
