import PollerIdentity
import PollerQueue
import PollerWatches
import RedisClient
import Synchronization

/// A read of the recorded events of one watch.
struct LogRead: Sendable {
    let key: WatchKey
    /// Only events after this one are read.
    let seq: Int
    let limit: Int

    /// The arguments of log.lua.
    var arguments: [RedisArgument] {
        [.string("\(key.id)"), RedisArgument(max(seq, 0)), RedisArgument(max(limit, 1))]
    }

    /// Returns the events in a reply of log.lua, without those that are not understood, which are logged.
    ///
    /// If there are such events and the log may go on, `rest` is the read of all further events.
    func events(
        in reply: RedisValue,
        _ unreadable: UnreadableEvents
    ) -> (events: [Event], rest: LogRead?) {
        let part = LogPart(reply)
        let first = part.last - part.entries.count + 1
        // Compacted events are one entry of the log, which is returned whole.
        let found = part.entries.enumerated().flatMap { index, entry -> [Event] in
            let stored = entry.bytes ?? []
            let events = PackedEvent.events(stored, of: key)
            report(stored, events, first + index, after: part.previous, to: unreadable)
            return events
        }
        let events = Array(found.drop { $0.seq <= part.previous }.prefix(max(limit, 1)))
        let last = part.last
        guard events.count < limit, part.entries.count >= limit, last > seq else {
            return (events, nil)
        }
        return (events, LogRead(key: key, seq: last, limit: ArchivedWatch.eventsMax))
    }

    /// Returns the same events without decoding them; those that are not understood are logged when they are used.
    func log(in reply: RedisValue, _ unreadable: UnreadableEvents) -> [LoggedEvent] {
        let part = LogPart(reply)
        var number = part.last - part.entries.count
        var found: [LoggedEvent] = []
        for value in part.entries {
            number += 1
            guard let stored = value.bytes else { continue }
            if stored.first == CompactedEvents.mark {
                let events = CompactedEvents.events(stored, of: key)
                found += events.map { LoggedEvent($0) }
                if !events.isEmpty {
                    report(stored, events, number, after: part.previous, to: unreadable)
                }
                // If it is damaged, it counts as one event, so that the list is not shorter than the log.
                if !events.isEmpty { continue }
            }
            let (key, seq) = (key, number)
            found.append(
                LoggedEvent(seq: seq) {
                    PackedEvent.digest(stored, source: key.source.description)
                } event: {
                    let event = PackedEvent.event(stored, source: key.source.description)
                        .flatMap { $0.seq == seq ? $0 : nil }
                    if event == nil { unreadable.report(key, seq: seq) }
                    return event
                }
            )
        }
        return Array(found.drop { $0.seq <= part.previous }.prefix(max(limit, 1)))
    }

    /// Reports the events of an entry that are not understood; an entry without any other one is reported once.
    ///
    /// `last` is the number of its last event. Events up to `previous` were not asked for.
    private func report(
        _ stored: [UInt8],
        _ events: [Event],
        _ last: Int,
        after previous: Int,
        to unreadable: UnreadableEvents
    ) {
        let count = PackedEvent.count(of: stored)
        guard events.count != count else { return }
        guard !events.isEmpty, last >= count else { return unreadable.report(key, seq: last) }
        let missing = Set(last - count + 1...last).subtracting(events.map(\.seq))
        for seq in missing.sorted() where seq > previous { unreadable.report(key, seq: seq) }
    }
}

/// The reply of log.lua for one log.
private struct LogPart {
    /// The number of the last event in the reply.
    let last: Int
    /// The number that the events follow: the requested one, or that of the newest event that the log does not keep.
    let previous: Int
    let entries: ArraySlice<RedisValue>

    /// Reads a reply; it has no entries if it is of another form.
    init(_ reply: RedisValue) {
        let values = reply.array ?? []
        last = values.first?.count ?? 0
        previous = values.dropFirst().first?.count ?? 0
        entries = values.dropFirst(2)
    }
}

/// Batches reads of logs that begin at the same time into one call per partition.
///
/// *Problem.* A notifier starts many attempts at once, and each reads the event that it sends. A call of its own for
/// each of them costs more than the read: sending it, waking Redis and starting a script.
///
/// *Approach.* The first read of a partition lets the tasks that are ready run, which adds their reads, and then makes
/// one call for all. A read waits for no timer. If the call fails for another reason than an unavailable store, or its
/// caller is cancelled, each of the others reads on its own, so that one damaged log does not affect other watches. So
/// does a read for which the common reply, of about a megabyte at most, has no space.
final class LogReadBatcher: Sendable {
    /// The most reads of one call: a fraction of a millisecond of Redis.
    private static let most = 64

    /// The result for a read that joined the call of another.
    private enum Answer: Sendable {
        case reply(RedisValue)
        case unavailable(StoreError)
        /// The common call failed for a reason that may concern another read only.
        case alone
    }

    /// A read that waits for the common call.
    private struct Joined: Sendable {
        let read: LogRead
        let resume: @Sendable (Answer) -> Void
    }

    /// The reads that wait, by partition; a partition with a value has a task that is about to call.
    private let waiting = Mutex<[Int: [Joined]]>([:])

    /// Returns the reply for `read`, by a call that other reads of its partition may share.
    ///
    /// `call` returns one reply for each read, in order.
    func reply(
        to read: LogRead,
        partition: Int,
        _ call: ([LogRead]) async throws(StoreError) -> [RedisValue]
    ) async throws(StoreError) -> RedisValue {
        if let answer = await join(read, partition) {
            switch answer {
            case .reply(let reply): return reply
            case .unavailable(let error): throw error
            case .alone: return try await first(call([read]))
            }
        }
        // The tasks that started with this one add their reads now.
        await Task.yield()
        let others = waiting.withLock { $0.removeValue(forKey: partition) } ?? []
        do throws(StoreError) {
            let replies = try await call([read] + others.map(\.read))
            guard replies.count == others.count + 1 else {
                throw .corrupt("log.lua answered \(replies.count) of \(others.count + 1) reads")
            }
            for (other, reply) in zip(others, replies.dropFirst()) {
                // The reply would have been too long.
                other.resume(reply.isNull ? .alone : .reply(reply))
            }
            return try first(replies)
        } catch {
            let answer: Answer
            if case .unavailable = error, !Task.isCancelled {
                answer = .unavailable(error)
            } else {
                answer = .alone
            }
            for other in others { other.resume(answer) }
            guard case .alone = answer, !others.isEmpty else { throw error }
            return try await first(call([read]))
        }
    }

    /// Waits for the call that another read is about to make; returns `nil` if the caller has to make it.
    private func join(_ read: LogRead, _ partition: Int) async -> Answer? {
        await withCheckedContinuation { continuation in
            let isFirst = waiting.withLock { waiting in
                guard let count = waiting[partition]?.count else {
                    waiting[partition] = []
                    return true
                }
                guard count + 1 < Self.most else {
                    // Enough for one call; this read makes its own.
                    return true
                }
                waiting[partition]?.append(
                    Joined(read: read) { continuation.resume(returning: $0) }
                )
                return false
            }
            if isFirst { continuation.resume(returning: nil) }
        }
    }

    private func first(_ replies: [RedisValue]) throws(StoreError) -> RedisValue {
        guard let reply = replies.first else { throw .corrupt("log.lua did not answer") }
        return reply
    }
}
