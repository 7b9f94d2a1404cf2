import ArgumentParser

/// `pollerctl worker`: the processes of the cluster.
struct WorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Look at the processes that work on the cluster.",
        subcommands: [WorkerList.self],
        defaultSubcommand: WorkerList.self
    )
}
