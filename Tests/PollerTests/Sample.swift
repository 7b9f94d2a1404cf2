import Logging
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Synchronization
import Testing

/// Default values for tests.
enum Sample {
    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    static let owner = OwnerID(unchecked: "AAAAAAAAAAA")

    static func key(_ source: String = "src_1", account: String = "acct_a") -> WatchKey {
        WatchKey(source, of: AccountID(unchecked: account))
    }

    static func watch(
        status: String? = nil,
        detail: String = "",
        policy: PollPolicy = .standard,
        timeout: Duration = .seconds(3600),
        createdAt: Timestamp = VirtualTime.start,
        seq: Int = 0,
        step: Int = 0,
        failures: Int = 0,
        malformed: Int = 0,
        hintedAt: Timestamp? = nil,
        isReopened: Bool = false,
        endedAs: ClosedReason? = nil
    ) -> Watch {
        Watch(
            key: key(),
            policy: policy,
            createdAt: createdAt,
            deadline: createdAt + timeout,
            run: 1,
            seq: seq,
            reopenedSeq: isReopened ? seq : nil,
            endedAs: endedAs,
            hintedAt: hintedAt,
            state: WatchState(
                status: status.map(SourceStatus.init(unchecked:)),
                detail: detail,
                step: step,
                failures: failures,
                malformed: malformed
            )
        )
    }

    static func event(_ key: WatchKey = key(), seq: Int, status: String = "pending") -> Event {
        Event(
            Watch(
                key,
                createdAt: VirtualTime.start,
                deadline: VirtualTime.start + .seconds(60),
                seq: seq - 1
            ),
            status: SourceStatus(unchecked: status),
            polledAt: VirtualTime.start
        )
    }
}

/// A value shared by a test and its tasks.
final class Shared<Value: Sendable>: Sendable {
    private let storage: Mutex<Value>

    init(_ value: Value) {
        storage = Mutex(value)
    }

    var value: Value { storage.withLock { $0 } }

    func change(_ body: (inout Value) -> Void) {
        storage.withLock { value in
            var copy = value
            body(&copy)
            value = copy
        }
    }
}

/// Records an issue; for the `else` of a guard that ends a test.
func fail(_ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation) {
    Issue.record(comment, sourceLocation: sourceLocation)
}
