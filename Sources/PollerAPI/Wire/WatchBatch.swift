import JSONText
import Poller
import PollerIdentity
import PollerOperations
import PollerWatches
import PollerWire

/// The checked items of a batch, or a problem that lists their errors.
///
/// A batch with an invalid item enqueues none.
struct WatchBatch {
    /// The maximum size.
    ///
    /// A batch occupies an API process for a moment, and Redis for a few ms per thousand.
    static let countMax = 10_000
    /// The maximum number of errors listed.
    ///
    /// More usually have the same cause.
    private static let errorsListedMax = 20

    /// The distinct items, in groups without a repeated source.
    ///
    /// A source given again with other options joins the watch of the earlier group, as two requests would.
    private(set) var groups: [[NewWatch]] = []
    /// Items left out because an equal one came before.
    private(set) var duplicates = 0

    /// Checks a JSON array, or with `isLines` one object per line.
    ///
    /// Empty lines are skipped.
    /// `caller` is the sender. `locator` resolves the source of a URL, and `endpoints` determines the URLs that can be
    /// reached.
    init(
        _ bytes: [UInt8],
        isLines: Bool,
        for caller: Caller,
        locator: (any SourceLocator)? = nil,
        endpoints: EndpointBackend? = nil
    ) throws(Problem) {
        let items = isLines ? try Self.lines(bytes) : try Self.array(bytes)
        guard !items.isEmpty else {
            throw Problem(.invalidValue, "The batch is empty: send at least one watch.")
        }
        var seen: Set<NewWatch> = []
        var timesSeen: [WatchKey: Int] = [:]
        var errors: [ProblemReport.Item] = []
        var errorsTotal = 0
        for (index, item) in items.enumerated() {
            do throws(Problem) {
                let request = try Problem.reading(WatchRequest.self, item)
                let new = try NewWatch(
                    request,
                    for: caller,
                    locator: locator,
                    endpoints: endpoints
                )
                guard seen.insert(new).inserted else {
                    duplicates += 1
                    continue
                }
                let group = timesSeen[new.key, default: 0]
                timesSeen[new.key] = group + 1
                if group == groups.count { groups.append([]) }
                groups[group].append(new)
            } catch  where error.code == .notAllowed {
                // The key lacks a permission, which concerns the whole batch.
                throw error
            } catch {
                errorsTotal += 1
                if errors.count < Self.errorsListedMax {
                    errors.append(ProblemReport.Item(error, index: index))
                }
            }
        }
        guard errors.isEmpty else {
            var problem = Problem(
                .invalidBatch,
                "\(errorsTotal) of \(items.count) items are invalid; correct them and "
                    + "send the batch again. Nothing was enqueued."
            )
            problem.errors = errors
            problem.errorsTotal = errorsTotal
            throw problem
        }
    }

    /// Sets the trace of the request on all items.
    mutating func setTrace(_ trace: TraceContext?) {
        guard trace != nil else { return }
        for group in groups.indices {
            for place in groups[group].indices { groups[group][place].options.trace = trace }
        }
    }

    private static func array(_ bytes: [UInt8]) throws(Problem) -> [RawJSON] {
        let value = try Problem.checkedJSON(bytes)
        guard let items = value.elements else {
            throw Problem(
                .wrongType,
                "A batch must be an array of watches, not \(value.kind.name); for one "
                    + "object a line send Content-Type: application/x-ndjson."
            )
        }
        try checkCount(items.count)
        return items
    }

    private static func lines(_ bytes: [UInt8]) throws(Problem) -> [RawJSON] {
        var items: [RawJSON] = []
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
            let isBlank = bytes[start..<end].allSatisfy { $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }
            if !isBlank {
                try checkCount(items.count + 1)
                items.append(try Problem.checkedJSON(bytes, start..<end))
            }
            start = end + 1
        }
        return items
    }

    private static func checkCount(_ count: Int) throws(Problem) {
        guard count <= countMax else {
            throw Problem(
                .invalidValue,
                "A batch may have at most \(countMax) watches; send several batches."
            )
        }
    }
}

extension ProblemReport.Item {
    /// Creates the error of the item at this index.
    init(_ problem: Problem, index: Int) {
        self.init()
        self.index = index
        code = problem.code.rawValue
        field = problem.field
        detail = problem.detail
    }
}
