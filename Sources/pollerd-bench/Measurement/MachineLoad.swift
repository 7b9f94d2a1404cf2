import Foundation

/// The load of the machine before and during a run by anything else than the run.
///
/// A busy machine distorts every figure: caches are cold and processes wait for a core. The load during the run is the
/// CPU time of the whole machine (`/proc/stat`) without that of this process and its children. It includes the work of
/// the kernel that belongs to no process.
///
/// *Limits*: Linux only. A given Redis is not a child, so then only the time taken by the hypervisor is known.
struct MachineLoad: Sendable {
    /// The part of all cores, on average over the last minute, at which a warning is given before a run.
    ///
    /// A run that has just ended gives it too, because the load average falls slowly.
    private static let averageMax = 0.25
    /// The part of all cores used by others at which a warning is given.
    private static let othersMax = 0.05
    /// The part of all cores taken by the hypervisor at which a warning is given.
    private static let stealMax = 0.01

    /// CPU seconds of all cores since the start of the machine.
    private struct Times {
        let all: Double
        let busy: Double
        let steal: Double

        /// Reads the first line of `/proc/stat`, in ticks: user, nice, system, idle, iowait, irq, softirq, steal.
        init?() {
            let text = try? String(contentsOfFile: "/proc/stat", encoding: .utf8)
            let fields = text?.prefix { $0 != "\n" }.split(separator: " ") ?? []
            let ticks = fields.dropFirst().prefix(8).compactMap { Double($0) }
            guard fields.first == "cpu", ticks.count == 8 else { return nil }
            let seconds = ticks.map { $0 / Self.ticksPerSecond }
            all = seconds.reduce(0, +)
            steal = seconds.last ?? 0
            let idle = seconds.dropFirst(3).prefix(2).reduce(0, +)
            busy = all - idle - steal
        }

        static var ticksPerSecond: Double { Double(sysconf(Int32(_SC_CLK_TCK))) }
    }

    private let cores = Double(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1))
    private let average: Double
    private let before: Times
    private let ownBefore: Double
    /// The cores used by others, and the part of all cores taken by the hypervisor, during the run.
    private var during: (others: Double?, steal: Double)?

    /// Reads the load before a run, or returns `nil` if the system does not report it.
    init?() {
        guard let text = try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8),
            let average = text.split(separator: " ").first.flatMap({ Double($0) }),
            let before = Times()
        else { return nil }
        self.average = average
        self.before = before
        ownBefore = Self.ownSeconds
    }

    /// Returns the load with that during the run, which ends now.
    func over(hasOwnRedis: Bool) -> MachineLoad {
        guard let now = Times(), now.all > before.all else { return self }
        var load = self
        let seconds = (now.all - before.all) / cores
        let others = now.busy - before.busy - (Self.ownSeconds - ownBefore)
        load.during = (
            others: hasOwnRedis ? max(others, 0) / seconds : nil,
            steal: (now.steal - before.steal) / seconds / cores
        )
        return load
    }

    /// The reasons not to trust the figures, or `nil` if there are none.
    var warning: String? {
        var reasons: [String] = []
        if average > Self.averageMax * cores {
            reasons.append("the load average was \(average) before the run")
        }
        if let during {
            if let others = during.others, others > Self.othersMax * cores {
                let used = (others * 100).rounded() / 100
                reasons.append("other processes used \(used) of \(Int(cores)) cores")
            }
            if during.steal > Self.stealMax {
                let percent = (during.steal * 1000).rounded() / 10
                reasons.append("the hypervisor took \(percent) % of the CPU")
            }
        }
        guard !reasons.isEmpty else { return nil }
        return "the machine is loaded: \(reasons.joined(separator: ", "))"
    }

    /// The figures of the report.
    var report: BenchReport {
        var report = BenchReport()
        report.add("machine, cores", "cores", cores, "")
        report.add("  load average before the run", "load_before", average, "")
        if let others = during?.others {
            report.add("  other processes during the run", "others_cores", others, "cores")
        }
        if let steal = during?.steal {
            report.add("  taken by the hypervisor", "steal_percent", steal * 100, "%")
        }
        if let warning { report.add("WARNING", "warning", warning) }
        return report
    }

    /// The CPU seconds of this process and its children so far, including ended ones.
    private static var ownSeconds: Double {
        let mine = "\(getpid())"
        let living = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let children = living.reduce(0.0) { sum, name in
            guard name.utf8.allSatisfy({ (48...57).contains($0) }),
                let text = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8),
                let end = text.lastIndex(of: ")")
            else { return sum }
            // After the name: state, parent, and from the 12th on the ticks of user and system.
            let fields = text[end...].split(separator: " ").dropFirst()
            guard fields.dropFirst().first.map(String.init) == mine else { return sum }
            return sum + fields.dropFirst(11).prefix(2).reduce(0) { $0 + (Double($1) ?? 0) }
        }
        return ProcessCPU.seconds + ProcessCPU.endedChildrenSeconds
            + children / Times.ticksPerSecond
    }
}
