package import Poller
import Synchronization

/// The history of a cluster in memory.
///
/// A class, because reporters, routes and tests share it.
package final class MemoryActivityStore: ActivityStore {
    private let time: any StoreTime
    /// By the span, and the number of a step since 1970.
    private let steps = Mutex<[ActivitySpan: [Int: Activity]]>([:])

    /// Nothing was done yet.
    package init(time: any StoreTime) {
        self.time = time
    }

    package func add(_ activity: Activity) async throws(StoreError) {
        steps.withLock { steps in
            for span in ActivitySpan.allCases {
                let number = Int(time.now.ms / span.step.ms)
                let before = steps[span]?[number] ?? Activity()
                steps[span, default: [:]][number] = before + activity
            }
        }
    }

    package func history(_ span: ActivitySpan) async throws(StoreError) -> ActivityHistory {
        ActivityHistory(span, now: time.now, known: steps.withLock { $0[span] ?? [:] })
    }
}
