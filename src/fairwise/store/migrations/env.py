"""Run the migrations on the connection that ``engine.upgrade`` hands over."""  # noqa: INP001 - loaded by its path

from alembic import context

from fairwise.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
context.run_migrations()
